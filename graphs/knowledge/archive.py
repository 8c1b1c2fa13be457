"""Markdown files out of a zip archive that nobody is trusted to have made well."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from graphs.knowledge.drafts import MARKDOWN
from graphs.knowledge.errors import ImportRefused

MAX_DEPTH = 5
"""Folders around a file."""
MAX_FILES = 5_000
MAX_FILE_BYTES = 5 * 1024 * 1024
MAX_BYTES = 100 * 1024 * 1024
"""Of all that is unpacked: a small archive may hold a lot."""
_JUNK = frozenset({"__macosx", "thumbs.db", "desktop.ini", "node_modules"})
_UTF8_NAME = 0x800
_ENCRYPTED = 0x1
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of an archive that is not imported, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A file of an archive."""

    name: str
    data: bytes


def unpack(data: bytes) -> Iterator[Packed | Skipped]:
    """Its Markdown files, and what else it holds with the reason why that is left out; nothing is written to a disk.

    Raises:
        ImportRefused: no zip archive, encrypted, damaged, or larger than the limits of this module (also when it says otherwise).
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from _files(archive)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, zlib.error) as error:
        raise ImportRefused(f"The zip archive cannot be read: {error}.") from error


def _files(archive: zipfile.ZipFile) -> Iterator[Packed | Skipped]:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > MAX_FILES:
        raise ImportRefused(f"The archive has {len(members)} files; at most {MAX_FILES} are imported at once.")
    unpacked = 0
    for member in members:
        name = _name(member)
        if reason := _unwanted(name, member):
            yield Skipped(name, reason)
            continue
        content = _read(archive, member, name)
        unpacked += len(content)
        if unpacked > MAX_BYTES:
            raise ImportRefused(f"The archive's files are larger than {MAX_BYTES >> 20} MB together.")
        yield Packed(name, content)


def _name(member: zipfile.ZipInfo) -> str:
    """As it was meant: without the flag for UTF-8 it is most often the GBK of Chinese Windows, which `zipfile` reads as cp437."""
    if member.flag_bits & _UTF8_NAME:
        return member.filename
    try:
        return member.filename.encode("cp437").decode("gbk")
    except UnicodeError:
        return member.filename


def _unwanted(name: str, member: zipfile.ZipInfo) -> str | None:
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        return "its path leads out of the archive"
    if any(part.startswith(".") or part.lower() in _JUNK for part in parts):
        return "a system file"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "a symbolic link"
    if not name.lower().endswith(MARKDOWN):
        return "not Markdown"
    if len(parts) - 1 > MAX_DEPTH:
        return f"more than {MAX_DEPTH} folders deep"
    return None


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    """Piece by piece: the size that an archive declares may be a lie."""
    if member.flag_bits & _ENCRYPTED:
        raise ImportRefused(f"{name} is encrypted.")
    content = bytearray()
    with archive.open(member) as file:
        while piece := file.read(_PIECE):
            content += piece
            if len(content) > MAX_FILE_BYTES:
                raise ImportRefused(f"{name} is larger than {MAX_FILE_BYTES >> 20} MB.")
    return bytes(content)
