"""moto's DynamoDB sorts every item of a table for each query. Here it looks at those of the partition that is asked for, so that a table
that has grown is no slower than a new one."""

from __future__ import annotations

import copy
from typing import Any


def read_partitions_alone() -> None:
    """For all tables of this process. May be repeated."""
    from moto.dynamodb.models.table import Table

    if getattr(Table.query, "reads_partitions_alone", False):
        return
    whole = Table.query

    def query(self: Any, hash_key: Any, *given: Any, **options: Any) -> Any:
        # of an index the conditions name its keys: that of the table is among them where the index is local
        named = dict(options.get("hash_key_conditions") or ())
        wanted = named.get(self.hash_key_attr) if _index(given, options) else hash_key
        if wanted is None:
            return whole(self, hash_key, *given, **options)
        part = copy.copy(self)
        part.items = {wanted: self.items[wanted]} if wanted in self.items else {}
        return whole(part, hash_key, *given, **options)

    query.reads_partitions_alone = True  # type: ignore[attr-defined]  # a mark of ours
    Table.query = query  # type: ignore[method-assign]


_INDEX_NAME = 6
"""Its place behind the hash key."""


def _index(given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return given[_INDEX_NAME] if len(given) > _INDEX_NAME else options.get("index_name")
