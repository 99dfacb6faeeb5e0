"""Whether tests import the private tree: judged from what importing its packages, with a planted sentinel, came to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from experepair.errors import UsageError
from experepair.session.environment.packages import Layout, Package
from experepair.session.environment.remedies import Surroundings

_INSTALLED = "<python>"
"""How outputs name what lies below the interpreter's folders."""
_FROM = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")
_NO_LONGER = {
    "asynchat",
    "asyncore",
    "cgi",
    "cgitb",
    "crypt",
    "distutils",
    "imp",
    "nntplib",
    "pipes",
    "smtpd",
    "telnetlib",
}
"""Modules that newer versions of Python have lost: to miss them may be the very issue."""


class Verdict(StrEnum):
    """What importing a package came to."""

    PROVED = "proved"
    UNDECIDED = "undecided"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Imported:
    """What was seen when a package was imported.

    Attributes:
        seen: whether the sentinel was in the file that was imported.
        origin: that file, relative when it lies in the tree, "" for a namespace; None when there is none.
        kinds: classes of the error, the nearest first; empty when the import worked.
        missing: the module that the error names.
        said: the error's text.
    """

    seen: bool
    origin: str | None
    kinds: tuple[str, ...] = ()
    missing: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Preflight:
    """Whether tests import this tree.

    Attributes:
        verdict: of the repository as a whole.
        found: what was found, in a line.
        remedy: what helps, "" when nothing is wrong.
        notes: what the user should know although it is no reason to refuse.
    """

    verdict: Verdict
    found: str
    remedy: str = ""
    notes: tuple[str, ...] = ()

    def refuse(self) -> None:
        """End the repair before it costs anything, if tests are known not to import the tree.

        Raises:
            UsageError: with the reason and what helps.
        """
        if self.verdict is Verdict.FAILED:
            raise UsageError(f"{self.found}\n{self.remedy}\n(--no-preflight goes on all the same)")


@dataclass(frozen=True, slots=True)
class _Judged:
    verdict: Verdict
    found: str
    remedy: str = ""


def judge(
    packages: Sequence[Package],
    imported: Mapping[str, Imported],
    layout: Layout,
    surroundings: Surroundings,
    version: tuple[int, ...],
) -> Preflight:
    """One verdict for the repository: failed only if no main package is proved, and a cause was recognised.

    Args:
        packages: that were to be imported.
        imported: what came of each, by name; what isn't here ended the interpreter.
        layout: of the repository.
        surroundings: what remedies are chosen by.
        version: of the interpreter.
    """
    if not packages:
        return Preflight(Verdict.UNDECIDED, "no package to import: scripts are taken as they are")
    judged = {one.name: _judge(one, imported.get(one.name), layout, surroundings) for one in packages}
    main = [judged[one.name] for one in packages if one.main]
    named = ", ".join(name for name, each in judged.items() if each.verdict is Verdict.PROVED)
    others = tuple(each.found for each in judged.values() if each.verdict is not Verdict.PROVED)
    if any(each.verdict is Verdict.PROVED for each in main):
        return Preflight(
            Verdict.PROVED, f"{named}: a planted sentinel was seen", notes=_in_main(packages, judged)
        )
    if main and all(each.verdict is Verdict.FAILED for each in main):
        worst = main[0]
        old = layout.python and len(version) > 1 and version[1] < layout.python
        needs = f" (the project asks for Python 3.{layout.python}, this is 3.{version[1]})" if old else ""
        return Preflight(Verdict.FAILED, worst.found + needs, worst.remedy, notes=(worst.found,))
    return Preflight(Verdict.UNDECIDED, "; ".join(others[:2]), notes=others[:2])


def _in_main(packages: Sequence[Package], judged: Mapping[str, _Judged]) -> tuple[str, ...]:
    return tuple(
        judged[one.name].found
        for one in packages
        if one.main and judged[one.name].verdict is not Verdict.PROVED
    )


def _judge(package: Package, seen: Imported | None, layout: Layout, surroundings: Surroundings) -> _Judged:
    if seen is None:
        return _Judged(Verdict.UNDECIDED, f"importing {package.name!r} ends the interpreter")
    if seen.kinds:
        return _failing(package, seen, layout, surroundings)
    if seen.seen:
        return _Judged(Verdict.PROVED, package.name)
    if seen.origin is not None and seen.origin.startswith(_INSTALLED):
        return _Judged(
            Verdict.FAILED,
            f"tests would import the installed copy of {package.name!r} ({seen.origin}), not this tree",
            "install the repository in its place: " + surroundings.to_install_project(_project(package)),
        )
    return _Judged(Verdict.UNDECIDED, f"{package.name!r} is imported from {seen.origin or 'somewhere else'}")


def _failing(package: Package, seen: Imported, layout: Layout, surroundings: Surroundings) -> _Judged:
    """Recognise why an import fails; what isn't recognised may be the issue itself, and is no reason to refuse."""
    line = f"importing the repository's own package fails in the sandbox: {seen.kinds[0]}: {seen.said.splitlines()[0] if seen.said else ''}"
    if "PackageNotFoundError" in seen.kinds or "DistributionNotFound" in seen.kinds:
        return _Judged(
            Verdict.FAILED,
            f"{line}; it asks for its own version, and isn't installed",
            surroundings.to_install_project(),
        )
    if "ImportError" not in seen.kinds:
        return _Judged(Verdict.UNDECIDED, line)
    missing = _missing(seen)
    if not missing:
        return _Judged(Verdict.UNDECIDED, line)
    if owner := _owner(missing, layout):
        return _own_part(owner, missing, line, surroundings)
    if missing in {one.name for one in layout.packages}:
        return _Judged(
            Verdict.UNDECIDED,
            f"{line}; it is not installed: {surroundings.to_install_project(_project(package))}",
        )
    if "ModuleNotFoundError" not in seen.kinds or missing.split(".")[0] in _NO_LONGER:
        return _Judged(Verdict.UNDECIDED, line)
    top = missing.split(".")[0]
    return _Judged(
        Verdict.FAILED,
        f"{line}; {top!r} is a dependency that {surroundings.python} doesn't have",
        surroundings.to_install(top),
    )


def _missing(seen: Imported) -> str:
    """Dotted name of the module that isn't there, as far as the error tells."""
    if found := _FROM.search(seen.said):
        return f"{found[2]}.{found[1]}"
    return seen.missing if "ModuleNotFoundError" in seen.kinds else ""


def _owner(missing: str, layout: Layout) -> Package | None:
    return next((one for one in layout.packages if missing.startswith(f"{one.name}.")), None)


def _own_part(package: Package, missing: str, line: str, surroundings: Surroundings) -> _Judged:
    """A module of the repository's own that the commit doesn't have: generated, compiled, or the issue itself."""
    path = _folder(package) + missing.replace(".", "/")
    built = [product for product in surroundings.products() if product.startswith((f"{path}.", f"{path}/"))]
    if built and not surroundings.build_products:
        return _Judged(
            Verdict.FAILED,
            f"{line}; {built[0]} is a build product that git doesn't track",
            f"give --build-products to lay {built[0]} of your checkout (and what else was built) under the tree",
        )
    if surroundings.generated(path):
        made = ", and the set-up doesn't make it" if surroundings.setup else ", and not in your checkout"
        return _Judged(
            Verdict.FAILED,
            f"{line}; {path} is made by a build{made}",
            f"build it in your checkout: {surroundings.to_install_project()}; then give --build-products, "
            "or give --setup with the command that makes it",
        )
    return _Judged(Verdict.UNDECIDED, line)


def _folder(package: Package) -> str:
    """The folder that the package is imported from, "" or with a slash at its end."""
    return (
        package.file.removesuffix("/__init__.py")
        .removesuffix(".py")
        .removesuffix(package.name.replace(".", "/"))
    )


def _project(package: Package) -> str:
    """The folder to install the package from."""
    return re.sub(r"(^|/)(src|lib)$", "", _folder(package).strip("/"))
