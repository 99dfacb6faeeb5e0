"""Whether the configured models can be asked: key, price, endpoint. No call that costs anything is made."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from experepair.errors import ExpeRepairError
from experepair.llm.config import ModelConfig
from experepair.llm.connect import connect
from experepair.llm.roles import check_affordable
from experepair.session.doctor.finding import Finding, bad, good, note
from experepair.session.settings import Settings

_TIMEOUT_S = 4.0
_WITHOUT_ENDPOINT = ("manual", "replay")


def models(settings: Settings, *, asked_for: bool) -> Iterator[Finding]:
    """What is known of the models, then of each endpoint; only of what is configured.

    Args:
        settings: name the models.
        asked_for: whether a model was named by flag, so that it is an error if it can't be used.
    """
    try:
        config = settings.models_config()
        warnings = check_affordable(config)
    except ExpeRepairError as error:
        yield (bad if asked_for else note)("model", str(error))
        yield note("endpoint", "not tried: no model can be asked")
        return
    used = {one.name: one for one in (config.default, *config.roles.values())}
    names = ", ".join(sorted(used))
    if warnings:
        yield note("model", f"{names}: {'; '.join(warnings)}")
    else:
        yield good(
            "model", f"{names}: the key is set (whether it is accepted was not tried), and the price is known"
        )
    tried = set()
    for name, one in used.items():
        if name.partition(":")[0] in _WITHOUT_ENDPOINT:
            yield good("endpoint", f"{name} has none, nothing was tried")
            continue
        url = _address(one)
        if url not in tried:
            tried.add(url)
            yield _reached(name, url)


def _address(config: ModelConfig) -> str:
    try:
        return str(connect(config).base_url or "")
    except ExpeRepairError:
        return ""


def _reached(name: str, url: str) -> Finding:
    """Ask for the bare address, without the key: any answer will do."""
    if not url:
        return note("endpoint", f"{name}: not tried, its address isn't known")
    import httpx

    host = urlsplit(url).netloc.rpartition("@")[2]
    try:
        answer = httpx.get(url, timeout=_TIMEOUT_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        said = str(error) or type(error).__name__
        remedy = "check the network, a proxy (HTTPS_PROXY), and --base-url; for a local server, start it"
        return bad("endpoint", f"{name}: {host} can't be reached within {_TIMEOUT_S:g} s: {said}", remedy)
    return good(
        "endpoint", f"{name}: {host} answers (status {answer.status_code} to a request without a key)"
    )
