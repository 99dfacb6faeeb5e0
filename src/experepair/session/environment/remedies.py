"""What to do about an environment that lacks something, in the user's own paths and flags."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

_DISTRIBUTIONS = {
    "PIL": "pillow", "attr": "attrs", "bs4": "beautifulsoup4", "cv2": "opencv-python", "dateutil": "python-dateutil",
    "git": "gitpython", "pkg_resources": "setuptools", "distutils": "setuptools", "sklearn": "scikit-learn",
    "yaml": "pyyaml", "dotenv": "python-dotenv", "jwt": "pyjwt", "docx": "python-docx", "OpenSSL": "pyopenssl",
    "google.protobuf": "protobuf", "serial": "pyserial", "usb": "pyusb", "zmq": "pyzmq", "Crypto": "pycryptodome",
}  # fmt: skip
"""Modules that are installed under another name."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What remedies are chosen by.

    Attributes:
        repository: path of the user's checkout.
        python: path of the interpreter.
        found: where the interpreter was found.
        other_root: whether it runs in an image or another root file system.
        setup: the user's set-up command, "" without one.
        build_products: whether the checkout's build products are laid under the tree.
        products: asks which build products the checkout has.
        generated: asks whether git ignores a path, so that it is made by a build.
    """

    repository: str = "."
    python: str = "python"
    found: str = ""
    other_root: bool = False
    setup: str = ""
    build_products: bool = False
    products: Callable[[], tuple[str, ...]] = field(default=tuple)
    generated: Callable[[str], bool] = field(default=lambda path: False)

    def to_install(self, *what: str) -> str:
        """How these modules get into the environment."""
        names = " ".join(shlex.quote(_DISTRIBUTIONS.get(each, each)) for each in what)
        if self._has_none():
            return self._make_one(names)
        return f"`{self._pip(names)}`{self._or_another()}"

    def to_install_project(self, folder: str = "") -> str:
        """How the project itself gets into the environment, so that the tree is what is imported."""
        place = f"{self.repository}/{folder}" if folder else self.repository
        if self._has_none():
            return self._make_one("pytest", place)
        return f"`{self._pip(f'-e {shlex.quote(place)}')}`{self._or_another()}"

    def _has_none(self) -> bool:
        return self.found == "PATH" and not self.other_root

    def _make_one(self, names: str, place: str = "") -> str:
        venv = shlex.quote(f"{self.repository}/.venv")
        return (
            "make an environment for the repository, which is then found by itself: "
            f"`python3 -m venv {venv} && {venv}/bin/pip install -e {shlex.quote(place or self.repository)} {names}`; "
            "or name the one that it has with --python"
        )

    def _pip(self, what: str) -> str:
        return f"{shlex.quote(self.python)} -m pip install {what}"

    def _or_another(self) -> str:
        if self.other_root:
            return " in that root or image, or name another interpreter in it with --python"
        return ", or name the environment that has it with --python"
