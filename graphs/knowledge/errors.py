"""What a knowledge store may raise."""

from __future__ import annotations


class KnowledgeUnavailable(Exception):
    """The store behind a `Knowledge` cannot be reached. A run that ends with it says `KB_INFRA_DOWN`.

    For subclasses that ask a server: raise it from the connection's own error, which then stays in the log.
    """
