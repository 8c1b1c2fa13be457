"""Files as drafts: what is read, how it is cleaned, and what an archive may not do."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest

from graphs.knowledge import archive
from graphs.knowledge.drafts import check_kb_id, clean, decode, make_draft
from graphs.knowledge.errors import ImportRefused
from graphs.knowledge.files import drafts_of


@pytest.mark.parametrize(
    ("name", "data", "doc_id", "title", "text"),
    [
        ("a.md", "# Title #\n\nText", "kb/a", "Title", "# Title #\n\nText"),
        ("sub/b.MD", "Text", "kb/sub/b.MD", "b.MD", "Text"),
        ("notes.txt", "one\r\ntwo\r", "kb/notes.txt", "notes.txt", "one\ntwo"),
        ("f.markdown", "---\ntitle: x\n---\n# T\n", "kb/f.markdown", "T", "# T"),
        ("c.md", "a<!-- secret\nnote -->b\n\n\n\n\nc\x00\x07", "kb/c", "c.md", None),
        ("d.md", "e\u0301\u3000x\u200b  \n", "kb/d", "d.md", "\u00e9 x"),
        ("\\w\\e.md", "x", "kb/w/e", "e.md", "x"),
    ],
)
def test_drafts(name: str, data: str, doc_id: str, title: str, text: str | None) -> None:
    """The id is the path without `.md`, the title the first heading; front matter, comments and odd characters go."""
    if text is None:
        with pytest.raises(ImportRefused, match="UTF-8"):
            make_draft("kb", name, data.encode())
        return
    draft = make_draft("kb", name, data.encode())
    assert (draft.doc_id, draft.title, draft.markdown) == (doc_id, title, text)


def test_cleaning_keeps_a_rule_that_is_no_front_matter() -> None:
    """Three dashes further down are a rule; indents and tabs of code stay."""
    assert clean("a\n\n---\n\n\tb\n    c  \n") == "a\n\n---\n\n\tb\n    c"
    assert clean("x<!-- a -->y") == "xy"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("年假".encode(), "年假"),
        (b"\xef\xbb\xbf" + "年假".encode(), "年假"),
        ("年假".encode("gb18030"), "年假"),
        ("年假".encode("utf-16"), "年假"),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    """UTF-8, with and without its mark, UTF-16, and what Chinese Windows writes."""
    assert decode("x.txt", data) == text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", b"x"),
        ("a", b"x"),
        ("a.md", b""),
        ("a.md", b"  \n <!-- x -->"),
        ("a.md", b"\x89PNG\x00\xff\xff"),
        ("../a.md", b"x"),
        ("a/../../b.md", b"x"),
        ("a//b.md", b"x"),
        ("a\nb.md", b"x"),
        ("x" * 300 + ".md", b"x"),
        ("", b"x"),
    ],
)
def test_refused(name: str, data: bytes) -> None:
    """Another kind of file, no text, a name that leads elsewhere: a sentence, not a document."""
    with pytest.raises(ImportRefused):
        make_draft("kb", name, data)


def test_ids_of_bases() -> None:
    """Letters of any language, digits, `_-.`; nothing that a path or a link could stumble over."""
    for good in ("handbook", "年假", "a.b-c_1", "x" * 128):
        assert check_kb_id(good) == good
    for bad in ("", "a/b", ".a", "-a", "a b", "x" * 129, "a\n", "a?b"):
        with pytest.raises(ImportRefused):
            check_kb_id(bad)


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes | str], level: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as made:
        for name, data in files:
            made.writestr(name, data)
    return buffer.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_an_archive_gives_its_markdown() -> None:
    """Everything else is left out, each with its reason: another kind, a way out, junk of systems, links, too deep, twice, no text."""
    data = zipped(
        ("a.md", "# A"),
        ("e\u0301.md", "x"),
        ("\u00e9.md", "twice, as macOS and others write it"),
        ("deep/1/2/3/4/ok.md", "x"),
        ("deep/1/2/3/4/5/no.md", "x"),
        ("notes.txt", "x"),
        ("../evil.md", "x"),
        ("/etc/evil.md", "x"),
        ("C:/evil.md", "x"),
        ("x\\..\\evil.md", "x"),
        ("__MACOSX/a.md", "x"),
        (".git/a.md", "x"),
        ("dir/._a.md", "x"),
        (link("link.md"), "/etc/passwd"),
        ("empty.md", " "),
        ("folder/", ""),
    )
    drafts, skipped = drafts_of("kb", "docs.ZIP", data)
    assert [draft.doc_id for draft in drafts] == ["kb/a", "kb/\u00e9", "kb/deep/1/2/3/4/ok"]
    assert drafts[0].markdown == "# A"
    reasons = [file.reason.split(" ")[0] for file in skipped]
    assert reasons == ["the", "more", "not", "its", "its", "its", "its", "a", "a", "a", "a", "empty.md"]


class Unflagged(zipfile.ZipInfo):
    """As Chinese Windows writes a name: in GBK, and without a flag that says so."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:
        return self.filename.encode("gbk"), 0


def test_names_of_chinese_windows() -> None:
    """Without the flag for UTF-8, a name is read as the GBK that it most often is."""
    drafts, _ = drafts_of("kb", "a.zip", zipped((Unflagged("制度/年假.md"), "# 年假")))
    assert [draft.doc_id for draft in drafts] == ["kb/制度/年假"]


def test_bombs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what comes out, whatever the archive says of itself: one file, all files, their number."""
    bomb = zipped(("a.md", b"x" * 2_000_000), level=9)
    assert len(bomb) < 10_000
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 1_000_000)
    with pytest.raises(ImportRefused, match="larger"):
        drafts_of("kb", "a.zip", bomb)
    monkeypatch.setattr(archive, "MAX_BYTES", 1_000)
    with pytest.raises(ImportRefused, match="together"):
        drafts_of("kb", "a.zip", zipped(("a.md", b"x" * 600), ("b.md", b"x" * 600)))
    monkeypatch.setattr(archive, "MAX_FILES", 1)
    with pytest.raises(ImportRefused, match="2 files"):
        drafts_of("kb", "a.zip", zipped(("a.md", b"x"), ("b.md", b"x")))


@pytest.mark.parametrize("damage", ["no zip", "cut", "a byte"])
def test_damaged_archives(damage: str) -> None:
    """Refused with a sentence, also when the damage shows only while unpacking."""
    data = zipped(("a.md", b"hello hello hello " * 50), level=9)
    data = {"no zip": b"hello", "cut": data[:-30], "a byte": data[:60] + bytes([data[60] ^ 0xFF]) + data[61:]}[damage]
    with pytest.raises(ImportRefused, match="cannot be read"):
        drafts_of("kb", "a.zip", data)


def test_an_archive_without_markdown() -> None:
    """Is no import that did nothing."""
    with pytest.raises(ImportRefused, match=r"no Markdown file"):
        drafts_of("kb", "a.zip", zipped(("a.txt", "x")))
