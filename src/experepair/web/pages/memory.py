"""The pages of the memory: what is in it, where it comes from, what waits to be accepted, how it grows."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from experepair.domain.memory import Origin
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.store import Changed, Filter, InsightRecord, State
from experepair.steps.result import Status
from experepair.web.rendering import page
from experepair.web.shelf import NotThere, Shelf

if TYPE_CHECKING:
    from experepair.memory.store import Store

router = APIRouter(prefix="/memory")
Choice = TypeVar("Choice", bound=StrEnum)
Number = Annotated[int, Query(ge=1, le=1_000_000)]
_PAGE = 25
_LOG = 50
_MOST_FORM = 100_000
"""Bytes of a form."""


def _store(request: Request) -> Store:
    shelf: Shelf = request.app.state.site
    return shelf.memory()


@router.get("")
def demonstrations(
    request: Request,
    scope: str = "",
    agent: str = "",
    origin: str = "",
    state: str = "",
    outcome: str = "",
    text: str = "",
    page_number: Number = 1,
) -> Response:
    """Demonstrations that a filter lets through, newest first."""
    store = _store(request)
    wanted = Filter(
        scope=scope or None,
        agent=_one_of(Agent, agent),
        origin=_one_of(Origin, origin),
        state=_one_of(State, state),
        text=text.strip(),
        outcome=outcome or None,
    )
    found = store.listing(wanted, (page_number - 1) * _PAGE, _PAGE)
    given = {
        "scope": scope,
        "agent": agent,
        "origin": origin,
        "state": state,
        "outcome": outcome,
        "text": text,
    }
    return page(
        request,
        "memory/demonstrations.html",
        store=store,
        scopes=store.scopes(),
        found=found,
        given=given,
        page_number=page_number,
        per_page=_PAGE,
        agents=list(Agent),
        origins=list(Origin),
        states=list(State),
        outcomes=[str(one) for one in Status],
    )


@router.get("/demonstration")
def demonstration(request: Request, id: str) -> Response:
    """One demonstration: what failed, what it was told, what worked."""
    store = _store(request)
    stored = store.demonstrations([id]).get(id)
    if stored is None:
        raise NotThere(f"memory holds no demonstration {id!r}")
    lesson = next(iter(store.lesson(stored.scope, stored.key)), None)
    return page(
        request,
        "memory/demonstration.html",
        store=store,
        stored=stored,
        lesson=lesson,
        usage=store.usage([id])[id],
        run=_run_named(request, stored.demonstration.run_id),
    )


@router.get("/insights")
def insights(request: Request, scope: str = "") -> Response:
    """Insights of both agents with their records."""
    store = _store(request)
    scopes = store.scopes()
    chosen = scope or next(iter(scopes), "")
    found = {agent: store.insights(chosen, agent) if chosen else () for agent in Agent}
    return page(request, "memory/insights.html", store=store, scopes=scopes, scope=chosen, found=found)


@router.get("/insight")
def insight(request: Request, id: str, scope: str = "") -> Response:
    """One insight with its record; one that has left is known by its history alone."""
    store = _store(request)
    found: InsightRecord | None = None
    for name in [scope] if scope else store.scopes():
        records = (one for agent in Agent for one in store.insights(name, agent) if one.insight.id == id)
        if found := next(records, None):
            break
    if found is None and not scope:
        raise NotThere(f"memory holds no insight {id!r} any more; its repository's log may tell of it")
    return page(
        request,
        "memory/insight.html",
        store=store,
        id=id,
        record=found,
        scope=found.scope if found else scope,
    )


@router.get("/history")
def history(request: Request, scope: str, name: str) -> Response:
    """What happened to one entry: a part of a page, fetched when the rest is there, since it reads all events."""
    store = _store(request)
    return page(request, "memory/history.html", entries=store.log(scope, name, limit=_LOG), name=name)


@router.get("/quarantine")
def quarantine(request: Request, page_number: Number = 1) -> Response:
    """Lessons of untrusted origin that wait for a person."""
    store = _store(request)
    found = store.lessons(state=State.QUARANTINED, offset=(page_number - 1) * _PAGE, limit=_PAGE + 1)
    return page(
        request,
        "memory/quarantine.html",
        store=store,
        found=found[:_PAGE],
        more=len(found) > _PAGE,
        page_number=page_number,
    )


@router.get("/lesson")
def lesson(request: Request, scope: str, name: str) -> Response:
    """What one run, commit or issue taught."""
    store = _store(request)
    held = store.lesson(scope, name)
    if not held:
        raise NotThere(f"memory learned nothing from {name!r} of {scope!r}")
    found = [
        one for each in held for one in store.listing(Filter(scope=scope, key=each.key), limit=100).entries
    ]
    return page(request, "memory/lesson.html", store=store, held=held, found=found, scope=scope, name=name)


@router.get("/log")
def log(request: Request, scope: str = "", before: int | None = None) -> Response:
    """Events, newest first."""
    store = _store(request)
    entries = store.log(scope or None, before=before, limit=_LOG)
    return page(
        request,
        "memory/log.html",
        store=store,
        scopes=store.scopes(),
        scope=scope,
        entries=entries,
        per_page=_LOG,
    )


@router.get("/growth")
def growth(request: Request, scope: str = "") -> Response:
    """How the memory grows, is used, and what that brings."""
    store = _store(request)
    return page(
        request,
        "memory/growth.html",
        store=store,
        scopes=store.scopes(),
        scope=scope,
        stats=store.stats(scope or None),
    )


@router.get("/growth.json")
def growth_data(request: Request, scope: str = "") -> JSONResponse:
    """Figures for the charts of the growth page."""
    stats = _store(request).stats(scope or None)
    total, months = 0, []
    for month, number in stats.growth.items():
        total += number
        months.append({"month": f"{date.fromisoformat(month + '-01')}", "lessons": number, "total": total})
    endings = [
        {"memory": name, "status": status.replace("_", " "), "repairs": number}
        for name, found in (
            ("recalled something", stats.with_memory),
            ("recalled nothing", stats.without_memory),
        )
        for status, number in found.items()
    ]
    return JSONResponse({"growth": months, "endings": endings})


@router.post("/accept")
async def accept(request: Request) -> Response:
    """Let what waits be recalled."""
    return await _change(request, lambda store, scope, name: store.accept(scope, [name]))


@router.post("/forget")
async def forget(request: Request) -> Response:
    """Hide an entry."""
    return await _change(request, lambda store, scope, name: store.forget(scope, [name]))


@router.post("/revert")
async def revert(request: Request) -> Response:
    """Make it as if it had never been learned."""
    return await _change(request, lambda store, scope, name: store.revert(scope, name))


async def _change(request: Request, act: Callable[[Store, str, str], Changed]) -> Response:
    from starlette.concurrency import run_in_threadpool

    shelf: Shelf = request.app.state.site
    form = dict(parse_qsl((await _body(request)).decode("utf-8", "replace"), keep_blank_values=True))
    expected: str = request.scope.get("change_token", "")
    if not expected or not hmac.compare_digest(form.get("change_token", "").encode(), expected.encode()):
        return page(
            request, "error.html", 403, message="the page is too old to change anything; load it again"
        )
    if shelf.read_only:
        return page(
            request, "error.html", 403, message="this view is read only; start it without --read-only"
        )
    scope, name = form.get("scope", ""), form.get("name", "")
    await run_in_threadpool(lambda: act(_store(request), scope, name))
    back = form.get("back", "")
    return RedirectResponse(back if back.startswith("/memory") else "/memory", 303)


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_FORM:
            raise UsageError("the form is too long")
    return body


def _one_of(kind: type[Choice], given: str) -> Choice | None:
    return kind(given) if given in set(kind) else None


def _run_named(request: Request, run_id: str) -> str:
    """The name of the run here that has this id; "" when there is none."""
    shelf: Shelf = request.app.state.site
    return shelf.run_with_id(run_id) if run_id else ""
