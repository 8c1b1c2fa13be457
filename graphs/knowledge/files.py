"""Files as drafts: one of text, or an archive of many."""

from __future__ import annotations

from graphs.knowledge.archive import Skipped, unpack
from graphs.knowledge.drafts import Draft, make_draft
from graphs.knowledge.errors import ImportRefused


def drafts_of(kb_id: str, name: str, data: bytes) -> tuple[list[Draft], list[Skipped]]:
    """The drafts in a file, and what of an archive is left out, each with its reason; an archive's unreadable file is no reason to refuse
    the others.

    Raises:
        ImportRefused: the file cannot be imported, or nothing in the archive can.
    """
    if not name.lower().endswith(".zip"):
        return [make_draft(kb_id, name, data)], []
    drafts: dict[str, Draft] = {}
    skipped: list[Skipped] = []
    for file in unpack(data):
        if isinstance(file, Skipped):
            skipped.append(file)
            continue
        try:
            draft = make_draft(kb_id, file.name, file.data)
        except ImportRefused as refused:
            skipped.append(Skipped(file.name, str(refused)))
            continue
        if draft.doc_id in drafts:
            skipped.append(Skipped(file.name, f"the archive has another file for {draft.doc_id}"))
        else:
            drafts[draft.doc_id] = draft
    if not drafts:
        raise ImportRefused(f"There is no Markdown file to import in {name} ({len(skipped)} files were left out).")
    return list(drafts.values()), skipped
