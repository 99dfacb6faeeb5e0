"""`experepair view`: runs, memory and campaigns in a browser on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def view(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of runs or campaigns, or folders above them (default: experepair-out).",
            metavar="[FOLDER]…",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Where memory is: a file, sqlite:///PATH or postgresql://…", metavar="URL"),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback (0: any that is free).")] = 0,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer no changes to memory.")] = False,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser", help="Open the page in the browser, or only print its address."
        ),
    ] = True,
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a static copy that opens from the file system, and end."),
    ] = None,
) -> None:
    """Look at repairs (live, too), memory and campaigns in a browser; listens on this machine only."""
    from experepair.session.memory import open_store
    from experepair.session.out import DEFAULT
    from experepair.session.settings import load
    from experepair.web.shelf import Shelf, checked

    given = checked(folders or ([DEFAULT] if DEFAULT.is_dir() else []))
    settings = load(None, {"memory": memory})
    shelf = Shelf(given, lambda: open_store(settings, make=False), read_only)
    if export is not None:
        from experepair.web.export import write_copy

        pages = write_copy(shelf, export)
        typer.echo(f"{export / 'index.html'}: {pages} pages")
        return

    def ready(address: str) -> None:
        typer.echo(address)
        sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(address)

    from experepair.web.serve import serve

    serve(shelf, port, ready)
