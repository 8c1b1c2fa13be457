"""The static files of the page, read at each request: an edit shows at the next reload of the browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# not `mimetypes`: what it says depends on the machine (Windows' registry), and a wrong type stops a module from loading
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    content_type: str


def read_file(folder: Path, path: str) -> File | None:
    """The file at URL path `path` (decoded, begins with "/"); None if there is none in the folder."""
    relative = path.lstrip("/") or "index.html"
    if "\0" in relative:
        return None
    try:
        file = (folder / relative).resolve()
        if not file.is_relative_to(folder.resolve()) or not file.is_file():
            return None
        return File(file.read_bytes(), _TYPES.get(file.suffix, "application/octet-stream"))
    except OSError:  # a name that the file system refuses, as one that is too long: nothing is there
        return None
