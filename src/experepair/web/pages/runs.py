"""The pages of one repair."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from experepair.journal import entries
from experepair.web.rendering import page
from experepair.web.run.chart import chart
from experepair.web.run.model import Call, Repair
from experepair.web.shelf import NotThere, Shelf

router = APIRouter(prefix="/runs/{name}")


@router.get("")
def summary(request: Request, name: str, seen: str = "") -> Response:
    """How the repair stands: patch, reasons, outcomes, stages."""
    return _page(request, name, "run/summary.html", seen, _charted)


@router.get("/timeline")
def timeline(request: Request, name: str, seen: str = "") -> Response:
    """Everything that happened, in order."""
    return _page(request, name, "run/timeline.html", seen, _charted)


@router.get("/candidates")
def candidates(request: Request, name: str, seen: str = "") -> Response:
    """All candidates with their outcomes."""
    return _page(request, name, "run/candidates.html", seen)


@router.get("/memory")
def memory(request: Request, name: str, seen: str = "") -> Response:
    """What memory gave, and what the repair taught it."""
    return _page(request, name, "run/memory.html", seen)


@router.get("/issue")
def issue(request: Request, name: str) -> Response:
    """The issue, and where the fault was looked for."""
    return _page(request, name, "run/issue.html")


@router.get("/calls/{call}")
def call(request: Request, name: str, call: str) -> Response:
    """One prompt and its reply."""
    repair = _repair(request, name)
    if call not in repair.calls:
        raise NotThere(f"the run has no call {call!r}")
    names = list(repair.calls)
    place = names.index(call)
    return _page(
        request,
        name,
        "run/call.html",
        call=repair.calls[call],
        before=names[place - 1] if place else "",
        after=names[place + 1] if place + 1 < len(names) else "",
        memory_parts=_memory_parts(repair, repair.calls[call]),
    )


@router.get("/executions/{number}")
def execution(request: Request, name: str, number: int) -> Response:
    """One command and its output."""
    repair = _repair(request, name)
    if number not in repair.executions:
        raise NotThere(f"the run has no execution {number}")
    numbers = list(repair.executions)
    place = numbers.index(number)
    return _page(
        request,
        name,
        "run/execution.html",
        execution=repair.executions[number],
        before=numbers[place - 1] if place else None,
        after=numbers[place + 1] if place + 1 < len(numbers) else None,
    )


@router.get("/candidates/{candidate}")
def candidate(request: Request, name: str, candidate: str) -> Response:
    """One candidate: its diff, what the tests say, what it was told."""
    found = _repair(request, name).candidate(candidate)
    if found is None:
        raise NotThere(f"the run has no candidate {candidate!r}")
    return _page(request, name, "run/candidate.html", candidate=found)


@router.get("/remembered")
def remembered(request: Request, name: str, id: str) -> Response:
    """One memory as the run was given it: the issue that it came from, what failed there, what worked."""
    repair = _repair(request, name)
    if id not in repair.memories:
        raise NotThere(f"the run was given no memory {id!r}")
    return _page(request, name, "run/remembered.html", memory=repair.memories[id])


@router.get("/patch.diff")
def patch(request: Request, name: str) -> Response:
    """The final patch, to be kept."""
    result = _repair(request, name).result
    if result is None or result.patch is None:
        raise NotThere("the run has no patch")
    return PlainTextResponse(
        result.patch.diff.encode("utf-8", "surrogateescape"),
        headers={"content-disposition": 'attachment; filename="patch.diff"'},
    )


def _repair(request: Request, name: str) -> Repair:
    shelf: Shelf = request.app.state.site
    return shelf.repair(name)


def _charted(repair: Repair, base: str) -> dict[str, Any]:
    return {"chart": chart(repair, base)}


def _page(
    request: Request, name: str, template: str, seen: str = "", more: Any = None, **values: Any
) -> Response:
    """A page about a run, or nothing new (204) when the reader's page shows the newest entry already."""
    repair = _repair(request, name)
    state = f"{repair.last}-{int(repair.live)}-{int(repair.result is not None)}"
    if seen == state:
        return Response(status_code=204)
    base = f"/runs/{name}"
    if more:
        values |= more(repair, base)
    return page(request, template, repair=repair, base=base, state=state, name=name, **values)


def _memory_parts(repair: Repair, call: Call) -> dict[str, tuple[str, ...]]:
    """What stands in the parts of a prompt that memory made, by digest."""
    made: dict[str, tuple[str, ...]] = {}
    for entry in repair.journal:
        if isinstance(entry, entries.Recalled):
            made.update(entry.parts)
    return {part.sha256: made[part.sha256] for part in call.intent.parts if part.sha256 in made}
