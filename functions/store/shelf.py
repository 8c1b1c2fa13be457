"""Knowledge bases in S3: a small record per base that writers compare and swap, and objects that are written once.

    <prefix>knowledge/<kbId>/base.json          the record: readers, documents, their segments
    <prefix>knowledge/<kbId>/segments/<name>    chunks and indexes of some documents
    <prefix>knowledge/<kbId>/texts/<name>       a draft

Why not S3 Vectors: it holds no words, so all of this would be there beside it, and each search would pay for a query and wait for it.
`tests/bench/results/knowledge.json` has what loading costs by size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from botocore.exceptions import BotoCoreError, ClientError

from functions.store.clients import Calls
from functions.store.errors import StoreError, error_code, explained
from functions.store.tables import KNOWLEDGE_FOLDER
from graphs.knowledge.errors import KnowledgeUnavailable
from graphs.knowledge.shelf import Kept, PieceGone

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_GONE = frozenset({"NoSuchKey", "404", "NotFound"})
_CHANGED = frozenset({"PreconditionFailed", "ConditionalRequestConflict", *_GONE})


@dataclass(frozen=True, slots=True)
class S3Shelf:
    """A `graphs.knowledge.shelf.Shelf`. `prefix` is that of the deployment's tables."""

    client: S3Client
    bucket: str
    prefix: str = ""
    _calls: Calls = field(default_factory=Calls)

    def bases(self) -> list[str]:
        found: list[str] = []
        with self._reached():
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self._root, Delimiter="/")
            for page in pages:
                found += [unquote(entry["Prefix"][len(self._root) : -1]) for entry in page.get("CommonPrefixes", [])]
        return found

    def read(self, kb_id: str) -> Kept | None:
        with self._reached():
            found = self._get(self._record(kb_id))
        return Kept(found["Body"].read(), found["ETag"]) if found else None

    def changed(self, kb_id: str, tag: str) -> bool:
        try:
            with self._reached(_GONE):
                return self.client.head_object(Bucket=self.bucket, Key=self._record(kb_id))["ETag"] != tag
        except ClientError:
            return True

    def write(self, kb_id: str, data: bytes, tag: str | None) -> bool:
        condition: Any = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        try:
            with self._reached(_CHANGED):
                self.client.put_object(Bucket=self.bucket, Key=self._record(kb_id), Body=data, **condition)
        except ClientError:
            return False
        return True

    def read_piece(self, kb_id: str, name: str) -> bytes:
        with self._reached():
            found = self._get(self._piece(kb_id, name))
            if found is None:
                raise PieceGone(name)
            data: bytes = found["Body"].read()
        return data

    def write_pieces(self, kb_id: str, pieces: Mapping[str, bytes]) -> None:
        def write(one: tuple[str, bytes]) -> None:
            self.client.put_object(Bucket=self.bucket, Key=self._piece(kb_id, one[0]), Body=one[1])

        with self._reached():
            self._calls.each(write, list(pieces.items()))

    def delete_pieces(self, kb_id: str, names: Iterable[str]) -> None:
        with self._reached():
            self._calls.each(lambda name: self.client.delete_object(Bucket=self.bucket, Key=self._piece(kb_id, name)), list(names))

    @property
    def _root(self) -> str:
        return f"{self.prefix}{KNOWLEDGE_FOLDER}/"

    def _record(self, kb_id: str) -> str:
        return f"{self._root}{quote(kb_id, safe='')}/base.json"

    def _piece(self, kb_id: str, name: str) -> str:
        return f"{self._root}{quote(kb_id, safe='')}/{name}"

    def _get(self, key: str) -> Any:
        try:
            return self.client.get_object(Bucket=self.bucket, Key=key)
        except ClientError as error:
            if error_code(error) in _GONE:
                return None
            raise

    @contextmanager
    def _reached(self, passed: frozenset[str] = frozenset()) -> Iterator[None]:
        """Whatever S3 or the way to it says is `KnowledgeUnavailable`, but for the codes in `passed`."""
        try:
            with explained(self.bucket, self.client.meta.endpoint_url):
                yield
        except ClientError as error:
            if error_code(error) in passed:
                raise
            raise KnowledgeUnavailable(str(error)) from error
        except (BotoCoreError, StoreError) as error:
            raise KnowledgeUnavailable(str(error)) from error
