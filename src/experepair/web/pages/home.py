"""The first page: what there is to look at."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from experepair.web.campaign.reading import standing
from experepair.web.rendering import page
from experepair.web.shelf import Shelf, glance

router = APIRouter()
_PAGE = 50


@router.get("/")
def home(request: Request, page_number: Annotated[int, Query(ge=1, le=1_000_000)] = 1) -> Response:
    """Campaigns, then the runs that belong to none, newest first; a single one is opened at once."""
    shelf: Shelf = request.app.state.site
    campaigns = shelf.campaigns()
    roots = tuple(campaigns.values())
    runs = [run for run in shelf.runs() if not any(run.folder.is_relative_to(root) for root in roots)]
    if "link" not in request.scope and "all" not in request.query_params and len(runs) + len(campaigns) == 1:
        path = f"/campaigns/{next(iter(campaigns))}" if campaigns else f"/runs/{runs[0].name}"
        return RedirectResponse(path, 303)
    glances = sorted((glance(run) for run in runs), key=lambda one: -one.at)
    return page(
        request,
        "home.html",
        campaigns={name: standing(root) for name, root in campaigns.items()},
        runs=glances[(page_number - 1) * _PAGE : page_number * _PAGE],
        total=len(glances),
        page_number=page_number,
        per_page=_PAGE,
    )
