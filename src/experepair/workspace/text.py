"""File content as text, such that what is not touched goes back byte for byte."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


@dataclass(frozen=True, slots=True)
class Text:
    """A file's content, decoded.

    Attributes:
        text: without the byte order mark; line ends as they are.
        codec: what it was decoded with.
        mark: the byte order mark that was there, or nothing.
    """

    text: str
    codec: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """The bytes of a new content of this file.

        Raises:
            UnicodeEncodeError: the file's encoding has no such character.
        """
        return self.mark + text.encode(self.codec)


def decode(raw: bytes) -> Text | None:
    """Decode as Python would: byte order mark, coding line (PEP 263), UTF-8; else Latin-1, which fits any bytes.

    Returns:
        None for binary content (with NUL). Encoding the same text again gives the same bytes.
    """
    if b"\0" in raw:
        return None
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    body = raw[len(mark) :]
    for codec in ("utf-8", _declared(body)):
        if codec:
            try:
                text = body.decode(codec)
                if text.encode(codec) == body:
                    return Text(text, codec, mark)
            except (UnicodeError, ValueError):
                continue
    return Text(body.decode("latin-1"), "latin-1", mark)


def lines_of(text: str) -> list[str]:
    r"""Lines with their ends; only \n, \r\n and \r end one (str.splitlines knows more, form feeds among them)."""
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", text)


def _declared(body: bytes) -> str | None:
    for line in body.split(b"\n", 2)[:2]:
        if found := _CODING.match(line):
            try:
                info = codecs.lookup(found[1].decode("ascii"))
            except (LookupError, UnicodeError):
                return None
            # rot13 and the like are no text encodings, and decode() would raise LookupError
            return info.name if getattr(info, "_is_text_encoding", True) else None
        if line.strip() and not line.lstrip().startswith(b"#"):
            return None
    return None
