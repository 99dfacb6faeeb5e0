"""Templates to HTML: everything escaped, numbers and times shown alike on all pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlencode

from markupsafe import Markup

from experepair.domain.text import visible
from experepair.web.diffs import side_by_side
from experepair.web.highlight import code

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import HTMLResponse

Link = Callable[[str], str]
"""Turns a path within the site into what stands in `href`."""


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page for a request.

    Its links are those of the site, or relative ones when the request comes from an export, which brings a `link` of its own.
    """
    from starlette.responses import HTMLResponse

    link: Link = request.scope.get("link", str)
    found = _templates().get_template(template)
    text = found.render(
        link=lambda path, **query: link(_address(path, query)),
        static_copy="link" in request.scope,
        change_token=request.scope.get("change_token", ""),
        site=request.app.state.site,
        path=request.url.path,
        query=dict(request.query_params),
        partial="hx-request" in request.headers,
        **values,
    )
    return HTMLResponse(text, status)


def _address(path: str, query: Mapping[str, object]) -> str:
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return quote(path, safe="/~") + ("?" + urlencode(given) if given else "")


def seconds(value: float | None) -> str:
    """A duration in short."""
    if value is None:
        return ""
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    if value < 99.5:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def usd(value: float | None) -> str:
    """A cost; a short dash where no price is known."""
    return (
        "unknown"
        if value is None
        else "$0"
        if value == 0
        else f"${value:.4f}"
        if value < 1
        else f"${value:.2f}"
    )


def count(value: float) -> str:
    """A whole number, in groups of three."""
    return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def when(value: datetime | str | None) -> Markup | str:
    """A time, to the second, UTC."""
    if not value:
        return ""
    found = datetime.fromisoformat(value) if isinstance(value, str) else value
    return Markup('<time datetime="{}">{}</time>').format(
        found.isoformat(), found.strftime("%Y-%m-%d %H:%M:%S")
    )


def plural(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def short(text: str, most: int = 100) -> str:
    """The first line, cut at `most` characters."""
    line = next((each for each in text.strip().splitlines() if each.strip()), "")
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _shown(value: object) -> object:
    """Controls, bidi marks and lone surrogates of foreign texts as escapes, wherever a template shows one."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("experepair.web", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "seconds": seconds,
        "usd": usd,
        "count": count,
        "when": when,
        "plural": plural,
        "short": short,
        "code": code,
        "side_by_side": side_by_side,
    }
    environment.filters.update(cast("Any", filters))
    return environment
