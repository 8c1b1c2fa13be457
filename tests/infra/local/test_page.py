"""The static files of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.local.page import read_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    (page / "lib").mkdir(parents=True)
    (page / "index.html").write_text("<p>hi")
    (page / "lib" / "a.js").write_text("export {}")
    (tmp_path / "secret.txt").write_text("no")
    (page / "link.txt").symlink_to(tmp_path / "secret.txt")
    return page


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html", "text/html; charset=utf-8"),
        ("/lib/a.js", "text/javascript; charset=utf-8"),
        ("/lib", None),
        ("/none.js", None),
        ("/../secret.txt", None),
        ("//../secret.txt", None),
        ("/link.txt", None),
        ("/a\0b", None),
        ("/" + "x" * 5000, None),
        ("/" + "x/" * 5000, None),
    ],
)
def test_read_file(folder: Path, path: str, expected: str | None) -> None:
    """Files of the folder come with their own type; nothing outside it is read, by dots or by links."""
    file = read_file(folder, path)
    assert (file.content_type if file else None) == expected
