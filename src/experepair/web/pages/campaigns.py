"""The pages of a campaign: how far it is, its tables, and two of its variants side by side."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from experepair.errors import ExpeRepairError
from experepair.web.campaign.comparing import learning, paired, pairs, share
from experepair.web.campaign.reading import Line, Standing, standing
from experepair.web.rendering import page
from experepair.web.shelf import NotThere, Shelf

router = APIRouter()
Number = Annotated[int, Query(ge=1, le=1_000_000)]
_PAGE = 50


@router.get("/campaigns/{name}")
def campaign(
    request: Request, name: str, only: str = "", text: str = "", page_number: Number = 1, seen: str = ""
) -> Response:
    """All issues by all variants."""
    shelf, found = _standing(request, name)
    if seen == found.state:
        return Response(status_code=204)
    wanted = [
        one
        for one in found.campaign.instances
        if text.lower() in one.lower() and (not only or _differ(found, one))
    ]
    shown = wanted[(page_number - 1) * _PAGE : page_number * _PAGE]
    return page(
        request,
        "campaign/campaign.html",
        name=name,
        standing=found,
        shown=shown,
        total=len(wanted),
        given={"only": only, "text": text},
        page_number=page_number,
        per_page=_PAGE,
        shares={line.name: share(line) for line in found.lines},
        runs=shelf.names_of(
            [one.folder for line in found.lines for one in (line.repairs[each] for each in shown)]
        ),
        base=f"/campaigns/{name}",
    )


@router.get("/campaigns/{name}/tables")
def tables(request: Request, name: str) -> Response:
    """The tables of `bench report`: a part of a page, since every journal is read for them."""
    _, found = _standing(request, name)
    try:
        made: Any = _tables(found.root, found.state)
        message = ""
    except ExpeRepairError as error:
        made, message = (), str(error)
    return page(request, "campaign/tables.html", tables=made, message=message)


@router.get("/campaigns/{name}/charts.json")
def charts(request: Request, name: str) -> JSONResponse:
    """Figures for the charts: successes with their intervals, and the learning curve."""
    _, found = _standing(request, name)
    arms = [
        {"name": line.name, "value": 100 * one.value, "low": 100 * one.low, "high": 100 * one.high}
        for line in found.lines
        if (one := share(line)).value is not None
    ]
    curves = [
        {"name": line.name, "number": number, "share": value}
        for line in found.lines
        for number, value in learning(line)
    ]
    return JSONResponse({"arms": arms, "learning": curves})


@router.get("/compare")
def compare(
    request: Request, a: str = "", b: str = "", only: str = "", text: str = "", page_number: Number = 1
) -> Response:
    """Two variants, of one campaign or of two, issue by issue."""
    shelf: Shelf = request.app.state.site
    lines = _lines(shelf)
    names = list(lines)
    if len(names) < 2:
        raise NotThere(
            "there are no two variants to compare; open a campaign with several arms, or several campaigns"
        )
    first = a if a in lines else names[0]
    second = b if b in lines else next(each for each in names if each != first)
    every = pairs(lines[first], lines[second])
    wanted = [
        one
        for one in every
        if text.lower() in one.instance_id.lower()
        and (only != "disagreements" or one.disagrees)
        and (only != "patches" or one.first.patch != one.second.patch)
    ]
    shown = wanted[(page_number - 1) * _PAGE : page_number * _PAGE]
    return page(
        request,
        "campaign/compare.html",
        names=names,
        first=first,
        second=second,
        every=every,
        shown=shown,
        total=len(wanted),
        paired=paired(every),
        both=sum(bool(one.first.good and one.second.good) for one in every),
        given={"a": first, "b": second, "only": only, "text": text},
        page_number=page_number,
        per_page=_PAGE,
        runs=shelf.names_of([folder for one in shown for folder in (one.first.folder, one.second.folder)]),
    )


@router.get("/compare/issue")
def compare_issue(request: Request, a: str, b: str, instance: str) -> Response:
    """One issue in two variants: their patches and how they came to them, side by side."""
    shelf: Shelf = request.app.state.site
    lines = _lines(shelf)
    if a not in lines or b not in lines:
        raise NotThere("there is no such variant here")
    found = next((one for one in pairs(lines[a], lines[b]) if one.instance_id == instance), None)
    if found is None:
        raise NotThere(f"the variants have no issue {instance!r} in common")
    return page(
        request,
        "campaign/issue.html",
        pair=found,
        sides=((a, found.first), (b, found.second)),
        back={"a": a, "b": b},
        runs=shelf.names_of([found.first.folder, found.second.folder]),
    )


def _standing(request: Request, name: str) -> tuple[Shelf, Standing]:
    shelf: Shelf = request.app.state.site
    return shelf, standing(shelf.campaign(name))


def _lines(shelf: Shelf) -> dict[str, Line]:
    """Variants of all campaigns, by "campaign / variant"."""
    return {
        f"{name} / {line.name}": line
        for name, root in shelf.campaigns().items()
        for line in standing(root).lines
    }


def _differ(found: Standing, instance: str) -> bool:
    return len({line.repairs[instance].good for line in found.lines} - {None}) > 1


@lru_cache(maxsize=8)
def _tables(root: Path, state: str) -> list[Any]:
    from experepair.bench.report.collect import collect
    from experepair.bench.report.tables import tables as made

    del state
    return list(made(collect(root, {})))
