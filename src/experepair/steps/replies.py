"""Short answers read out of model replies: verdicts, paths, places, choices. What can't be read is data."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from experepair.domain.edit import Unparsed
from experepair.domain.place import Span

_LINE_MARKS = " \t-*`'\""
_MOST_ITEMS = 50


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge says of a reproduction."""

    agrees: bool
    reasons: str


def read_verdict(reply: str) -> Verdict | Unparsed:
    """The last <verdict> of the judge's reply, and what stands before it."""
    found = list(re.finditer(r"<verdict>\s*(yes|no)\s*</verdict>", reply, re.IGNORECASE))
    if not found:
        return Unparsed("the reply has no <verdict>yes</verdict> or <verdict>no</verdict>", reply)
    return Verdict(found[-1][1].lower() == "yes", reply[: found[-1].start()].strip())


def read_files(reply: str, known: Collection[str]) -> tuple[str, ...] | Unparsed:
    """The paths of the last <files> that exist in the tree, in order, each once."""
    listed = _listed(reply, "files")
    if listed is None:
        return Unparsed("the reply has no <files> with paths", reply)
    paths = [_known_path(line, known) for line in listed]
    found = tuple(dict.fromkeys(path for path in paths if path))
    return found or Unparsed("none of the listed paths exists in the repository", "\n".join(listed))


def read_places(reply: str, known: Collection[str]) -> tuple[Span, ...] | Unparsed:
    """The places of the last <places> whose files exist, in order, each once.

    A definition is a span from line 0 with its name, as `localize.spans` takes it; a whole file has no name.
    """
    listed = _listed(reply, "places")
    if listed is None:
        return Unparsed("the reply has no <places> with places", reply)
    places = []
    for line in listed:
        path, _, rest = line.partition(":")
        rest = rest.strip(_LINE_MARKS)
        if not (known_path := _known_path(path, known)):
            continue
        if numbers := re.fullmatch(r"(?:lines?\s*)?(\d{1,7})(?:\s*[-\u2013]\s*(\d{1,7}))?", rest):
            first = int(numbers[1])
            places.append(Span(known_path, first, max(first, int(numbers[2] or first))))
        else:
            name = re.sub(r"^(?:async\s+)?(?:class|def|function|method)\s+", "", rest).split("(")[0]
            places.append(Span(known_path, 0, 0, name.strip(_LINE_MARKS)))
    found = tuple(dict.fromkeys(places))
    return found or Unparsed("none of the listed places is in a file of the repository", "\n".join(listed))


def read_choice(reply: str, names: Collection[str]) -> str | Unparsed:
    """The last <choice> of the reviewer's reply, if it is one of `names`."""
    found = re.findall(r"<choice>\s*([^<\s]{1,50})\s*</choice>", reply)
    if not found:
        return Unparsed("the reply has no <choice> with the name of a candidate", reply)
    return found[-1] if found[-1] in names else Unparsed(f"no such candidate to choose: {found[-1]!r}", reply)


def says_unchanged(reply: str) -> bool:
    """Whether a reviewed candidate was found to be as good as it can be; edits beside that count more."""
    return "<unchanged/>" in reply and "<original>" not in reply


def read_applied(reply: str) -> tuple[int, ...]:
    """Numbers of the insights that an agent says it applied; empty when it says nothing."""
    numbers = re.findall(r"\d{1,3}", " ".join(re.findall(r"<applied>([^<]{0,200})</applied>", reply)))
    return tuple(dict.fromkeys(int(number) for number in numbers))


def _listed(reply: str, tag: str) -> list[str] | None:
    start = reply.rfind(f"<{tag}>")
    if start < 0:
        return None
    end = reply.find(f"</{tag}>", start)
    body = reply[start + len(tag) + 2 : end if end >= 0 else None]
    lines = [line.strip(_LINE_MARKS) for line in body[:20_000].splitlines()]
    return [line for line in lines if line][:_MOST_ITEMS]


def _known_path(text: str, known: Collection[str]) -> str | None:
    path = text.strip(_LINE_MARKS).replace("\\", "/")
    path = path.split(" ")[0].removeprefix("./").removeprefix("/repo/")
    return path if path in known else None
