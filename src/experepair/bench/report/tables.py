"""The tables of a report, as values that Markdown and CSV are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experepair.bench.metrics.measures import Measures
from experepair.bench.metrics.statistics import Estimate, estimate, mcnemar
from experepair.bench.report import published
from experepair.bench.report.collect import Collected, Measured

_TOPS = (1, 3, 5, 10)
_NONE = "-"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: of its files.
        title: above it.
        header: names of the columns.
        rows: as text.
        notes: below it.
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


Metric = Callable[[Measures], float | bool | None]


def average(repairs: Sequence[Measures], metric: Metric) -> Estimate:
    """The mean of a metric over the repairs of which it is known."""
    values = [value for one in repairs if (value := metric(one)) is not None]
    return estimate([float(value) for value in values])


def percent(found: Estimate) -> str:
    """A share with its interval."""
    if found.value is None:
        return _NONE
    return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def amount(found: Estimate, digits: int = 1) -> str:
    """A mean with its interval."""
    if found.value is None:
        return _NONE
    return f"{found.value:,.{digits}f} [{found.low:,.{digits}f}, {found.high:,.{digits}f}]"


def tables(found: Collected) -> list[Table]:
    """All of a campaign."""
    return [
        overall(found),
        ablation(found),
        *([comparison(found)] if len(found.variants) > 1 else []),
        effort(found.variants, "effort", "Effort of a repair"),
        localization(found),
        memory(found),
        stages(found),
        coverage(found),
        *(
            [effort(found.seeds, "seeds", "Initial phase: seed issues, in no other table")]
            if found.seeds
            else []
        ),
    ]


def overall(found: Collected) -> Table:
    """Table 1."""
    ours = [
        (
            one.name,
            model_of(found, one),
            percent(average(one.repairs, lambda each: each.resolved)),
            amount(average(one.repairs, lambda each: each.usd), 2),
            str(len(one.repairs)),
            "measured",
        )
        for one in found.variants
    ]
    theirs = [
        (each.method, each.model, f"{each.resolved:.1f}", f"{each.usd:.2f}", "300", "published")
        for each in published.TABLE_1
    ]
    return Table(
        "table1",
        "Table 1: resolved issues and average cost",
        ("method", "model", "resolved (%)", "average cost ($)", "issues", "source"),
        (*theirs, *ours),
        (
            "Published rows are from the paper, on the 300 issues of SWE-bench Lite; measured rows are of this campaign's issues "
            "alone, with 95 % bootstrap intervals. Compare them only when the issues are the same.",
            *_unjudged(found),
        ),
    )


def ablation(found: Collected) -> Table:
    """Table 2."""
    rows = [
        (
            one.name,
            percent(average(one.repairs, lambda each: each.resolved)),
            percent(average(one.repairs, lambda each: each.executes)),
            percent(average(one.repairs, lambda each: each.reproduces)),
            percent(average(one.repairs, lambda each: each.accepted)),
            percent(average(one.repairs, lambda each: each.agrees)),
            str(len(one.repairs)),
            "measured",
        )
        for one in found.variants
    ]
    theirs = [
        (f"{arm} (paper)", *(f"{value:.1f}" for value in values), _NONE, _NONE, "300", "published")
        for arm, values in published.TABLE_2.items()
    ]
    return Table(
        "table2",
        "Table 2: ablation",
        (
            "variant",
            "resolved (%)",
            "ESR (%)",
            "RSR (%)",
            "judge says yes (%)",
            "judge agrees with RSR (%)",
            "issues",
            "source",
        ),
        (*theirs, *rows),
        (
            "ESR and RSR are over all issues, one script each, the last; no script is a failure. ESR: it came to its end without an error "
            "of the environment. RSR: it fails on the untouched code and passes with the maintainers' fix; the paper asked people.",
            *_unseen(found),
        ),
    )


def comparison(found: Collected) -> Table:
    """McNemar's exact test of each variant against the first."""
    first, *others = found.variants
    rows = []
    for other in others:
        for what, metric in _COMPARED.items():
            a = {one.instance_id: metric(one) for one in first.repairs}
            b = {one.instance_id: metric(one) for one in other.repairs}
            pairs = [
                (bool(a[name]), bool(b[name]))
                for name in a.keys() & b.keys()
                if a[name] is not None and b[name] is not None
            ]
            paired = mcnemar(pairs)
            rows.append(
                (
                    f"{first.name} / {other.name}",
                    what,
                    str(paired.n),
                    str(paired.only_first),
                    str(paired.only_second),
                    f"{paired.p:.3f}" if pairs else _NONE,
                )
            )
    return Table(
        "mcnemar",
        "Variants on the same issues: McNemar's exact test",
        ("variants", "metric", "issues", "only the first", "only the second", "p (two-sided)"),
        tuple(rows),
    )


_COMPARED: dict[str, Metric] = {
    "resolved": lambda one: one.resolved,
    "repaired by its own account": lambda one: one.status == "repaired",
    "ESR": lambda one: one.executes,
    "RSR": lambda one: one.reproduces,
}


def effort(measured: Sequence[Measured], name: str, title: str) -> Table:
    """Cost, tokens, calls and time."""
    rows = [
        (
            one.name,
            str(len(one.repairs)),
            percent(average(one.repairs, lambda each: each.status == "repaired")),
            amount(average(one.repairs, lambda each: each.usd), 4),
            amount(average(one.repairs, lambda each: each.tokens), 0),
            amount(average(one.repairs, lambda each: each.calls)),
            amount(average(one.repairs, lambda each: each.wall_s)),
        )
        for one in measured
    ]
    return Table(
        name,
        title,
        (
            "variant",
            "issues",
            "repaired by its own account (%)",
            "cost ($)",
            "tokens",
            "calls",
            "wall time (s)",
        ),
        tuple(rows),
        ("Means with 95 % bootstrap intervals. A repair whose price isn't known is in no mean of costs.",),
    )


def localization(found: Collected) -> Table:
    """How often the files of the maintainers' fix are found."""
    rows = [
        (
            one.name,
            *(percent(average(one.repairs, lambda each, top=top: each.within(top))) for top in _TOPS),  # type: ignore[misc]
            percent(average(one.repairs, lambda each: each.chosen)),
        )
        for one in found.variants
    ]
    return Table(
        "localization",
        "Localization: all files of the maintainers' fix found",
        ("variant", *(f"ranked in the first {top} (%)" for top in _TOPS), "chosen by the patch agent (%)"),
        tuple(rows),
    )


def memory(found: Collected) -> Table:
    """How often memory was used."""
    rows = [
        (
            one.name,
            percent(average(one.repairs, lambda each: each.recalled > 0)),
            amount(average(one.repairs, lambda each: each.recalled)),
            percent(average(one.repairs, lambda each: each.named > 0)),
            amount(average(one.repairs, lambda each: each.named), 2),
        )
        for one in found.variants
    ]
    return Table(
        "memory",
        "Memory",
        (
            "variant",
            "repairs with memory in a prompt (%)",
            "entries",
            "repairs that named an insight as applied (%)",
            "insights named",
        ),
        tuple(rows),
    )


def stages(found: Collected) -> Table:
    """Cost by role, over all repairs."""
    rows = []
    for one in found.variants:
        roles = sorted({role for each in one.repairs for role in each.stages})
        for role in roles:
            spent = [each.stages[role] for each in one.repairs if role in each.stages]
            costs = [usd for usd, _, _ in spent if usd is not None]
            cost = f"{sum(costs):.4f}" if len(costs) == len(spent) else _NONE
            rows.append(
                (
                    one.name,
                    role,
                    str(sum(calls for *_, calls in spent)),
                    f"{sum(tokens for _, tokens, _ in spent):,}",
                    cost,
                )
            )
    return Table("stages", "Cost by stage", ("variant", "role", "calls", "tokens", "cost ($)"), tuple(rows))


def coverage(found: Collected) -> Table:
    """What the numbers rest on: nothing that failed is left out in silence."""
    rows = [
        (
            one.name,
            str(len(one.repairs)),
            str(sum(each.resolved is not None for each in one.repairs)),
            "; ".join(f"{name}: {why}" for name, why in one.failed.items()) or _NONE,
            ", ".join(one.missing) or _NONE,
        )
        for one in (*found.variants, *found.seeds)
    ]
    return Table(
        "coverage",
        "What is done",
        ("variant", "done", "judged", "failed or refused", "not over"),
        tuple(rows),
    )


def model_of(found: Collected, one: Measured) -> str:
    """The model that a variant is named after."""
    told = one.variant.model if one.variant else ""
    return told or str(found.campaign.settings.get("model", "")) or "as configured"


def _unjudged(found: Collected) -> tuple[str, ...]:
    lacking = [one.name for one in found.variants if any(each.resolved is None for each in one.repairs)]
    if not lacking:
        return ()
    return (
        f"Not all patches of {', '.join(lacking)} are judged: `experepair bench eval CAMPAIGN/inference/VARIANT/submission/"
        "all_preds.jsonl DATASET --out CAMPAIGN/inference/VARIANT/eval`.",
    )


def _unseen(found: Collected) -> tuple[str, ...]:
    lacking = sum(each.executes is None for one in found.variants for each in one.repairs)
    return (
        (f"{lacking} scripts have not been run with the fix yet: `bench run --resume`.",) if lacking else ()
    )
