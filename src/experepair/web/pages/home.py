"""The first page: what there is to look at."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from experepair.web.rendering import page
from experepair.web.shelf import Shelf, glance

router = APIRouter()
_PAGE = 50


@router.get("/")
def home(request: Request, page_number: int = 1) -> Response:
    """Runs, newest first; a single one is opened at once."""
    shelf: Shelf = request.app.state.site
    runs = shelf.runs()
    if len(runs) == 1 and "link" not in request.scope and "all" not in request.query_params:
        return RedirectResponse(f"/runs/{runs[0].name}", 303)
    glances = sorted((glance(run) for run in runs), key=lambda one: -one.at)
    shown = glances[(page_number - 1) * _PAGE : page_number * _PAGE]
    return page(request, "home.html", runs=shown, total=len(glances), page_number=page_number, per_page=_PAGE)
