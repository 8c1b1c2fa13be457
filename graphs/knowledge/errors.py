"""What a knowledge store may raise."""

from __future__ import annotations

from collections.abc import Iterable


class KnowledgeUnavailable(Exception):
    """The store behind a `Knowledge` cannot be reached. A run that ends with it says `KB_INFRA_DOWN`.

    For subclasses that ask a server: raise it from the connection's own error, which then stays in the log.
    """


class ImportRefused(ValueError):
    """What was given cannot be imported; the message says why, and what would do."""


class DocumentBusy(Exception):
    """Another import of the same document is at work. `doc_ids`: of those that are."""

    def __init__(self, doc_ids: Iterable[str]) -> None:
        self.doc_ids = sorted(doc_ids)
        super().__init__(f"Another import is at work on {', '.join(self.doc_ids)}. Wait for its end, then try again.")
