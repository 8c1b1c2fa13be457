"""Keys of the checkpoints table: every part encoded, so that no two ids share a key, and sorted as the ids themselves are.

    pk  <principal>!<thread>
    sk  c!<namespace>!<epoch>!<checkpoint>                      one checkpoint
        w!<namespace>!<epoch>!<checkpoint>!<task>!<bucket>      the pending writes of one task
        p!<namespace>!<epoch>!<checkpoint>!<token>!<number>     a chunk of a payload that is too large for its item
        s!<digest>                                              a segment of long lists (`functions.store.segments`)
        l!                                                      the lease of the thread's run (`functions.store.leases`)
        a!<interrupt>                                           the answer that a question was given (`functions.store.claims`)
        k!<idempotency key>                                     the run that a request has started

An epoch is four hex digits, and `0000` as long as no run of the thread died (`functions.store.epochs`).

`!` separates. Inside a part everything up to `"` (U+0022) is written as `"` and two hex digits. Both sort before every character that
stays as it is, so encoded ids sort as the plain ones do (DynamoDB compares UTF-8 bytes, which is the order of code points).
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig

_UNSAFE = re.compile('[\x00-"\ud800-\udfff]')
_ESCAPE = re.compile('"(?:s([0-9a-f]{4})|([0-9a-f]{2}))')
_HASHED = '"~'

# DynamoDB allows 2,048 bytes of partition key and 1,024 of sort key. A longer part becomes its hash; the item then carries the id itself.
LONGEST_PARTITION_PART = 1_000
LONGEST_NAMESPACE = 500
LONGEST_ID = 200


class Address(NamedTuple):
    """Where a checkpoint is; `checkpoint_id` None means the latest of its namespace."""

    pk: str
    thread_id: str
    namespace: str
    checkpoint_id: str | None
    epoch: int = 0

    def config(self, checkpoint_id: str) -> RunnableConfig:
        """The config LangGraph gets back for one of its checkpoints."""
        ids: dict[str, Any] = {"thread_id": self.thread_id, "checkpoint_ns": self.namespace, "checkpoint_id": checkpoint_id}
        return {"configurable": ids}


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f'"s{code:04x}' if code > 0x22 else f'"{code:02x}'


def encode(part: str, longest: int) -> str:
    """One part of a key; a hash of it when it needs more than `longest` bytes."""
    text = _UNSAFE.sub(_escape, part)
    if len(text.encode()) <= longest:
        return text
    return _HASHED + hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()


def decode(text: str) -> str | None:
    """The id behind an encoded part; None for a hashed one."""
    if text.startswith(_HASHED):
        return None
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)


def owner(agent: str, principal: str) -> str:
    """Whose threads those of one caller with one agent are: agents share the table, but no thread, since another agent's graph would find
    no node for what is open in it. An agent's name holds no `:`, so no two pairs are one owner."""
    return f"{agent}:{principal}"


def principal_prefix(principal: str) -> str:
    return f"{encode(principal, LONGEST_PARTITION_PART)}!"


def partition(principal: str, thread_id: str) -> str:
    return principal_prefix(principal) + encode(thread_id, LONGEST_PARTITION_PART)


def namespace_prefix(kind: str, namespace: str) -> str:
    """`kind` is c, w or p."""
    return f"{kind}!{encode(namespace, LONGEST_NAMESPACE)}!"


def epoch_prefix(kind: str, namespace: str, epoch: int) -> str:
    return f"{namespace_prefix(kind, namespace)}{epoch:04x}!"


def checkpoint_key(namespace: str, checkpoint_id: str, epoch: int = 0) -> str:
    return epoch_prefix("c", namespace, epoch) + encode(checkpoint_id, LONGEST_ID)


def writes_prefix(namespace: str, checkpoint_id: str, epoch: int = 0) -> str:
    return f"{epoch_prefix('w', namespace, epoch)}{encode(checkpoint_id, LONGEST_ID)}!"


def writes_key(namespace: str, checkpoint_id: str, task_id: str, bucket: int, epoch: int = 0) -> str:
    return f"{writes_prefix(namespace, checkpoint_id, epoch)}{encode(task_id, LONGEST_ID)}!{bucket:05d}"


def chunks_prefix(namespace: str, checkpoint_id: str, epoch: int = 0) -> str:
    return f"{epoch_prefix('p', namespace, epoch)}{encode(checkpoint_id, LONGEST_ID)}!"


LEASE = "l!"
SEGMENTS = "s!"


def answer_key(interrupt_id: str) -> str:
    return f"a!{encode(interrupt_id, LONGEST_ID)}"


def segment_key(digest: str) -> str:
    return f"{SEGMENTS}{digest}"


def is_segment(sort_key: str) -> bool:
    return sort_key.startswith(SEGMENTS)


def request_key(idempotency_key: str) -> str:
    return f"k!{encode(idempotency_key, LONGEST_ID)}"


def after(prefix: str) -> str:
    """The first string after everything that starts with `prefix` (which ends in `!`): the upper end of a range; never a key itself."""
    return prefix[:-1] + '"'


class Place(NamedTuple):
    """What a sort key of kind c, w or p says; `namespace` and `checkpoint_id` are None where the key holds a hash of them."""

    namespace: str | None
    epoch: int
    checkpoint_id: str | None


def place(sort_key: str) -> Place:
    _kind, namespace, epoch, checkpoint_id, *_rest = sort_key.split("!")
    return Place(decode(namespace), int(epoch, 16), decode(checkpoint_id))


def standing(sort_key: str) -> tuple[int, str]:
    """Epoch and encoded checkpoint id of a key of kind c: checkpoints of a namespace stand in this order."""
    _kind, _namespace, epoch, checkpoint_id = sort_key.split("!")
    return int(epoch, 16), checkpoint_id


def whose(sort_key: str) -> str:
    """The encoded namespace and checkpoint of a key of kind c, w or p: the same for all that belongs to one checkpoint."""
    _kind, namespace, _epoch, checkpoint_id, *_rest = sort_key.split("!")
    return f"{namespace}!{checkpoint_id}"


def in_epoch(sort_key: str, epoch: int) -> str:
    """The same key in another epoch."""
    kind, namespace, _epoch, *rest = sort_key.split("!")
    return "!".join([kind, namespace, f"{epoch:04x}", *rest])


def thread_of(pk: str) -> str | None:
    """The thread id of a partition key; None where it is hashed."""
    return decode(pk.split("!", 1)[1])
