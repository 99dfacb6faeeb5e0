"""The application: addresses to pages. It knows no token; `guard` stands before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles

from experepair.errors import ExpeRepairError
from experepair.web.pages import campaigns, home, memory, runs
from experepair.web.rendering import page
from experepair.web.shelf import NotThere

if TYPE_CHECKING:
    from experepair.web.shelf import Shelf

STATIC = Path(__file__).parent / "static"


class _Assets(StaticFiles):
    """Files of this version, which may be kept for the session."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        """A file with leave to keep it."""
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["cache-control"] = "max-age=3600"
        return response


def application(shelf: Shelf) -> FastAPI:
    """All pages over what is on a shelf."""
    quiet: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, telemetry=quiet)
    app.state.site = shelf
    app.mount("/static", _Assets(directory=STATIC), name="static")
    for part in (home, campaigns, memory, runs):
        app.include_router(part.router)
    app.add_exception_handler(ExpeRepairError, _told)
    app.add_exception_handler(404, _missing)
    app.add_exception_handler(RequestValidationError, _missing)
    return app


def _told(request: Request, error: Exception) -> Response:
    """An error that was raised on purpose is a page that says it."""
    status = 404 if isinstance(error, NotThere) else 409
    return page(request, "error.html", status, message=str(error))


def _missing(request: Request, error: Exception) -> Response:
    del error
    return page(request, "error.html", 404, message=f"there is no page {request.url.path!r}")


def manifest() -> list[dict[str, str]]:
    """What others wrote of the assets: name, version, license, file, sha256, source."""
    found: list[dict[str, str]] = json.loads(
        (STATIC / "vendor" / "manifest.json").read_text(encoding="utf-8")
    )
    return found
