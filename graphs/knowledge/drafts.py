"""A file as a draft: decoded, cleaned, named."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from graphs.knowledge.base_id import KB_ID_CHARS
from graphs.knowledge.errors import ImportRefused

MARKDOWN = (".md", ".markdown")
TEXT = (".txt", ".text")
NAME_CHARS = 256

_FRONT_MATTER = re.compile(r"\A---\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CONTROL = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")
_BLANKS = re.compile(r"\n{3,}")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_KB_ID = re.compile(rf"\w[\w.-]{{0,{KB_ID_CHARS - 1}}}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as it will be imported. `doc_id` is `<kbId>/<name>`: an id tells its knowledge base, so a link needs no other word."""

    doc_id: str
    title: str
    markdown: str


def check_kb_id(kb_id: str) -> str:
    """
    Raises:
        ImportRefused: not 1 to 128 letters, digits, `_`, `-` and `.`, the first a letter, a digit or `_`.
    """
    if not _KB_ID.fullmatch(kb_id):
        raise ImportRefused(f"A knowledge base's id has 1 to {KB_ID_CHARS} letters, digits, `_`, `-` or `.`.")
    return kb_id


def make_draft(kb_id: str, name: str, data: bytes) -> Draft:
    """Of a file of that name (a relative path, `/` between its parts); `.md` is left out of the document's id.

    Raises:
        ImportRefused: a bad name, not Markdown or text, no text in it.
    """
    path = _checked_name(name)
    if not path.lower().endswith((*MARKDOWN, *TEXT)):
        raise ImportRefused(f"{name}: only Markdown ({', '.join(MARKDOWN)}), text ({', '.join(TEXT)}) and zip archives are imported.")
    markdown = clean(decode(name, data))
    if not markdown:
        raise ImportRefused(f"{name} has no text.")
    title = _HEADING.search(markdown)
    return Draft(f"{kb_id}/{path.removesuffix('.md')}", title[1][:NAME_CHARS] if title else path.rpartition("/")[2], markdown)


def _checked_name(name: str) -> str:
    path = unicodedata.normalize("NFC", name.replace("\\", "/")).strip("/ ")
    odd = _CONTROL.search(path) or "\n" in path or "\t" in path
    if not path or len(path) > NAME_CHARS or odd or {"", ".", ".."} & set(path.split("/")):
        raise ImportRefused(f"A file's name has 1 to {NAME_CHARS} characters, and no part that leads out of its folder.")
    return path


def decode(name: str, data: bytes) -> str:
    """UTF-8, UTF-16 with its mark, or the GB 18030 of Chinese Windows.

    Raises:
        ImportRefused: anything else.
    """
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "gb18030"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise ImportRefused(f"{name} is not a text in UTF-8.")


def clean(text: str) -> str:
    """Composed characters, line feeds, no front matter, comments, control characters, or runs of blank lines."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).lstrip("\ufeff")
    text = _CONTROL.sub("", _COMMENT.sub("", _FRONT_MATTER.sub("", text).replace("\xa0", " ").replace("\u3000", " ")))
    return _BLANKS.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()
