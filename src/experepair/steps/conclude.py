"""What a repair has come to, as a result."""

from __future__ import annotations

from collections.abc import Sequence

import experepair
from experepair.domain.candidate import Candidate
from experepair.domain.issue import Issue
from experepair.domain.place import Evidence
from experepair.errors import BudgetSpent, ProviderError
from experepair.journal.entries import Decided
from experepair.steps.checks import ExistingTest
from experepair.steps.kit import Kit
from experepair.steps.localize import Places
from experepair.steps.progress import Progress
from experepair.steps.remembered import memory_info
from experepair.steps.reproduce import Reproduction
from experepair.steps.result import (
    CandidateInfo,
    EvidenceInfo,
    FileInfo,
    FunctionInfo,
    IssueInfo,
    PatchInfo,
    PlacesInfo,
    ReproductionInfo,
    Result,
    Status,
    TableInfo,
)
from experepair.steps.spending import spending

_RANKED_FILES, _FUNCTIONS = 20, 3


def conclude(issue: Issue, kit: Kit, progress: Progress, error: BaseException | None = None) -> Result:
    """Sum up; with an error, the best patch so far is what the table, or else the smallest diff, says."""
    if progress.chosen is None:
        _provisional(progress)
    status = _status(progress, error)
    return Result(
        experepair=experepair.__version__,
        run_id=kit.run_id,
        status=status,
        error=None if error is None else str(error) or "interrupted",
        issue=IssueInfo(id=issue.id, title=issue.title, repository=issue.repository),
        commit=kit.checkout.commit,
        patch=_patch(progress.chosen, progress.reasons) if progress.chosen else None,
        reproduction=_reproduction(progress.reproduction) if progress.reproduction else None,
        places=_places(progress.places) if progress.places else None,
        candidates=tuple(
            CandidateInfo(
                name=one.name,
                passed=one.passed,
                parent=one.candidate.parent if one.candidate else None,
                diff=one.candidate.diff if one.candidate else None,
                feedback=one.feedback,
            )
            for one in progress.assessed
        ),
        validation_tests={test.name: test.source for test in progress.tests},
        table=_table(progress),
        existing_tests=progress.existing.compared if progress.existing else (),
        memory=memory_info(issue, kit),
        sandbox=kit.sandbox_report,
        spending=spending(kit.journal.entries),
        out=kit.out,
        elapsed_s=round(kit.elapsed_s(), 3),
        notes=_notes(kit, progress),
    )


def _notes(kit: Kit, progress: Progress) -> tuple[str, ...]:
    ranking = progress.places.ranking.notes if progress.places else ()
    existing = progress.existing.note if progress.existing else ""
    journal = kit.journal.entries
    memory = (entry.what for entry in journal if isinstance(entry, Decided) and entry.stage == "memory")
    return tuple(dict.fromkeys(note for note in (*kit.notes, *ranking, existing, *memory) if note))


def _provisional(progress: Progress) -> None:
    rows = progress.table.undominated()
    by_name = {candidate.name: candidate for candidate in progress.passing}
    if rows:
        progress.chosen = by_name[rows[0].name]
        progress.reasons = "The best by the table; no reviewer was asked."
    elif by_name:
        progress.chosen = min(by_name.values(), key=lambda candidate: candidate.size)
        progress.reasons = "The smallest that passes the reproduction; it was not validated."


def _status(progress: Progress, error: BaseException | None) -> Status:
    if error is not None:
        kinds = {
            BudgetSpent: Status.BUDGET_SPENT,
            ProviderError: Status.PROVIDER_FAILED,
            Exception: Status.ABORTED,
        }
        return next((status for kind, status in kinds.items() if isinstance(error, kind)), Status.INTERRUPTED)
    if progress.chosen is None:
        return Status.UNRESOLVED
    if progress.reproduction is None:
        return Status.UNREPRODUCED
    name = progress.chosen.name
    broken = any(row.broken for row in progress.table.rows if row.name == name)
    return Status.BREAKS_TESTS if broken else Status.REPAIRED


def _patch(candidate: Candidate, reasons: str) -> PatchInfo:
    return PatchInfo(
        name=candidate.name,
        paths=candidate.paths,
        lines_changed=candidate.size,
        diff=candidate.diff,
        flags=candidate.flags,
        reasons=reasons,
    )


def _reproduction(reproduction: Reproduction) -> ReproductionInfo:
    results = reproduction.baseline.results
    return ReproductionInfo(
        name=reproduction.check.name,
        existing_test=isinstance(reproduction.check, ExistingTest),
        trials=reproduction.trials,
        cases=tuple(results),
        failed_before=tuple(name for name, passed in results.items() if not passed),
        source=reproduction.source,
        output_before=reproduction.output,
        reasons=reproduction.reasons,
    )


def _places(places: Places) -> PlacesInfo:
    return PlacesInfo(
        ranked=tuple(
            FileInfo(
                path=file.path,
                score=file.score,
                evidence=_evidence(file.evidence),
                functions=tuple(
                    FunctionInfo(span=one.span.label, score=one.score, evidence=_evidence(one.evidence))
                    for one in file.functions[:_FUNCTIONS]
                ),
            )
            for file in places.ranking.files[:_RANKED_FILES]
        ),
        confidence=places.ranking.confidence,
        notes=places.ranking.notes,
        files=places.files,
        spans=tuple(span.label for span in places.spans),
    )


def _evidence(evidence: Sequence[Evidence]) -> tuple[EvidenceInfo, ...]:
    return tuple(EvidenceInfo(kind=item.kind, detail=item.detail, weight=item.weight) for item in evidence)


def _table(progress: Progress) -> TableInfo | None:
    if not progress.table.rows:
        return None
    header, *rows = progress.table.lines()
    return TableInfo(
        header=tuple(header), rows=tuple(tuple(row) for row in rows), set_aside=progress.table.set_aside
    )
