"""Whole threads and runs: delete, copy, prune, keep alive. Not on the path of a run."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from botocore.exceptions import ClientError

from functions.store import keys
from functions.store.epochs import current
from functions.store.errors import refused
from functions.store.expiry import alive, expiring, now
from functions.store.moving import Move
from functions.store.reading import HEADERS, Reader, Record, record
from functions.store.segments import named_by
from functions.store.table import Item

logger = logging.getLogger(__name__)

EVERYTHING = ("!", "~")
"""Range over every sort key of a partition."""
AT_ONCE = 25
SWEPT_AFTER = 3_600
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Works on the threads of one principal through its saver's reader."""

    reader: Reader
    principal: str

    def delete_thread(self, thread_id: str) -> None:
        """Also writes whose checkpoint was never stored, and every object. Repeatable after a crash half way. The lease goes last: a run
        that takes the thread must not lose what it stores meanwhile."""
        table = self.reader.table
        pk = keys.partition(self.principal, thread_id)
        found = [item for page in table.query(pk, *EVERYTHING, ProjectionExpression="pk, sk") for item in page]
        # Checkpoints go first, so that none is left that points to nothing.
        table.delete_many(item for item in found if item["sk"]["S"].startswith("c!"))
        table.delete_many(item for item in found if not item["sk"]["S"].startswith(("c!", keys.LEASE)))
        if self.reader.payloads.objects:
            self.reader.payloads.objects.delete_thread(pk)
        table.delete_many(item for item in found if item["sk"]["S"] == keys.LEASE)
        self.reader.epochs.forget(pk)
        self.reader.segments.known.forget(pk)

    def delete_runs(self, run_ids: Sequence[str]) -> None:
        """Scans the table: there is no index by run."""
        wanted = set(run_ids)
        pages = self.reader.table.scan(
            FilterExpression="begins_with(pk, :principal) AND begins_with(sk, :kind)",
            ExpressionAttributeValues={":principal": {"S": keys.principal_prefix(self.principal)}, ":kind": {"S": "c!"}},
            ProjectionExpression="pk, sk, #run",
            ExpressionAttributeNames={"#run": "run"},
        )
        found = [item for page in pages for item in page if item.get("run", {}).get("S") in wanted]
        self._delete_checkpoints(found)
        for pk in sorted({item["pk"]["S"] for item in found}):
            self._sweep(pk)

    def _sweep(self, pk: str) -> None:
        """Deletes the segments that no checkpoint names. Those of the last hour stay: they are stored before the checkpoint that names
        them."""
        table, own = self.reader.table, (keys.SEGMENTS, keys.after(keys.SEGMENTS))
        pages = table.query(pk, *own, ProjectionExpression="sk, #at", ExpressionAttributeNames={"#at": "at"})
        old = [item for page in pages for item in page if int(item["at"]["N"]) < now() - SWEPT_AFTER]
        if old:
            headers = [item for page in table.query(pk, "c!", keys.after("c!"), ProjectionExpression="segs") for item in page]
            named = {keys.segment_key(digest) for item in headers for digests in named_by(item).values() for digest in digests}
            table.calls.each(partial(self._delete_segment, pk), [item for item in old if item["sk"]["S"] not in named])

    def _delete_segment(self, pk: str, item: Item) -> None:
        stored_at = {"ExpressionAttributeNames": {"#at": "at"}, "ExpressionAttributeValues": {":at": item["at"]}}
        try:
            self.reader.table.delete(pk, item["sk"]["S"], ConditionExpression="#at = :at", **stored_at)
        except ClientError as error:
            if not refused(error):
                raise
            logger.debug("segment %s was stored again meanwhile", item["sk"]["S"])

    def _delete_checkpoints(self, items: Sequence[Item]) -> None:
        table = self.reader.table
        for start in range(0, len(items), AT_ONCE):
            batch = items[start : start + AT_ONCE]
            contents = table.calls.each(self._content, batch)
            table.delete_many(batch)
            table.delete_many(part for content in contents for part in content[1:])
            if objects := self.reader.payloads.objects:
                objects.delete([cell["o"]["S"] for content in contents for part in content for cell in _cells(part) if "o" in cell])

    def _content(self, item: Item) -> list[Item]:
        """The checkpoint's item, then its writes and its chunks."""
        pk, sk = item["pk"]["S"], item["sk"]["S"]
        found = [self.reader.table.get(pk, sk) or item]
        for prefix in (f"w{sk[1:]}!", f"p{sk[1:]}!"):
            found += [part for page in self.reader.table.query(pk, prefix, keys.after(prefix)) for part in page]
        return found

    def copy_thread(self, source: str, target: str) -> None:
        """Everything that is alive and counts, with the same checkpoint ids, in the epoch that threads begin with; the checkpoints last, so
        that each appears whole."""
        table = self.reader.table
        source_pk, target_pk = keys.partition(self.principal, source), keys.partition(self.principal, target)
        move = Move(target_pk, target, 0, self.reader.payloads.objects)
        headers = [
            item
            for page in table.query(source_pk, "c!", keys.after("c!"), ProjectionExpression="pk, sk, expires_at")
            for item in alive(page)
        ]
        since = {keys.whose(header["sk"]["S"]): keys.place(header["sk"]["S"]).epoch for header in current(headers)}
        for page in table.query(source_pk, keys.SEGMENTS, keys.after(keys.SEGMENTS)):
            table.put_many(move(item) for item in alive(page))
        for low, high in (("p!", keys.after("p!")), ("w!", keys.after("w!")), ("c!", keys.after("c!"))):
            # in the order of epochs: what a later one holds under the same key counts
            for page in table.query(source_pk, low, high):
                moved = [move(item) for item in alive(page) if _counts(item, since)]
                table.put_many({item["sk"]["S"]: item for item in moved}.values())

    def prune(self, thread_ids: Sequence[str], strategy: str) -> None:
        """`keep_latest`: the latest of every namespace and what its delta channels are rebuilt from; `delete`: nothing stays."""
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"Unknown prune strategy {strategy!r}: use 'keep_latest' or 'delete'.")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
            else:
                self._keep_latest(keys.partition(self.principal, thread_id))

    def _keep_latest(self, pk: str) -> None:
        namespaces: defaultdict[str, dict[str, Record]] = defaultdict(dict)
        pages = self.reader.table.query(pk, "c!", keys.after("c!"), ProjectionExpression=f"{HEADERS}, parent")
        headers = [item for page in pages for item in alive(page)]
        for found in map(record, current(headers)):
            namespaces[found.address.namespace][found.checkpoint_id] = found
        kept: set[str] = set()
        for checkpoints in namespaces.values():
            needed = self._needed_by(next(iter(checkpoints.values())), checkpoints)
            kept |= {checkpoints[own_id].item["sk"]["S"] for own_id in needed}
        self._delete_checkpoints([item for item in headers if item["sk"]["S"] not in kept])
        self._sweep(pk)

    def _needed_by(self, latest: Record, checkpoints: dict[str, Record]) -> set[str]:
        """Ids of the latest checkpoint and of its ancestors down to the snapshot of each delta channel."""
        kept = {latest.checkpoint_id}
        channels = set(self.reader.metadata(latest).get("counters_since_delta_snapshot") or ())
        found: Record | None = latest
        while channels and found is not None:
            saved = self.reader.get(found.address)
            channels -= saved.checkpoint["channel_values"].keys() if saved else set()
            found = checkpoints.get(found.parent) if channels and found.parent else None
            kept |= {found.checkpoint_id} if found else set()
        return kept

    def lags(self, pk: str, ttl_seconds: int) -> bool:
        """Whether the thread's oldest checkpoint expires at another time than one that is stored now: the latest does not tell, a run may
        have stored it after the thread was last kept alive. One call that reads one item."""
        pages = self.reader.table.query(pk, "c!", keys.after("c!"), Limit=1, ProjectionExpression="expires_at")
        oldest = next((found[0] for page in pages if (found := alive(page))), None)
        return oldest is not None and oldest != expiring(pk, ttl_seconds)

    def keep_alive(self, pk: str, ttl_seconds: int) -> None:
        """Moves the expiry of everything in the thread: older checkpoints may hold what the latest is rebuilt from. The oldest comes last:
        until it is moved the thread lags, so that a crash half way is made good by the next read."""
        table = self.reader.table
        expiry = expiring(pk, ttl_seconds)["expires_at"]

        update = {"UpdateExpression": "SET expires_at = :expiry", "ExpressionAttributeValues": {":expiry": expiry}}

        def touch(item: Item) -> None:
            try:
                table.update(pk, item["sk"]["S"], ConditionExpression="attribute_exists(pk)", **update)
            except ClientError as error:
                if not refused(error):
                    raise
                logger.debug("%s was removed meanwhile", item["sk"]["S"])

        found = [item for page in table.query(pk, *EVERYTHING, ProjectionExpression="sk, expires_at") for item in alive(page)]
        table.calls.each(touch, found[1:])
        table.calls.each(touch, found[:1])


def _counts(item: Item, since: Mapping[str, int]) -> bool:
    """Not what was written too late, and not what a takeover has copied: `since` has the epoch that each checkpoint counts in."""
    sort_key = item["sk"]["S"]
    epoch, counts_in = keys.place(sort_key).epoch, since.get(keys.whose(sort_key))
    if counts_in is None:
        return not sort_key.startswith("c!")
    return epoch == counts_in if sort_key.startswith("c!") else epoch >= counts_in


def _cells(item: Item) -> list[Item]:
    return [value["M"] for value in item.values() if "M" in value]
