"""`DynamoDBSaver`: LangGraph's checkpointer on one DynamoDB table, sync and async.

Its parts: keys, payloads (cells, and what does not fit into an item), writes (slots of a task), reading, writing, history, upkeep.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from functions.store import keys
from functions.store.claims import Claims
from functions.store.clients import ASYNC_THREADS, Calls, dynamodb_client, s3_client
from functions.store.epochs import Epochs
from functions.store.errors import TableMissing
from functions.store.events import EventTable
from functions.store.gathering import Gatherings, Outbox, Store, store_all
from functions.store.history import delta_history
from functions.store.holding import Holding
from functions.store.leases import Grant, Leases
from functions.store.payloads import Chunks, Objects, Payloads
from functions.store.reading import Reader, Record
from functions.store.remembered import Remembered
from functions.store.segments import Known, Segments
from functions.store.table import Table
from functions.store.tables import CHECKPOINTS, EVENTS
from functions.store.upkeep import Upkeep
from functions.store.writing import Writer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

P = ParamSpec("P")
R = TypeVar("R")

LONGEST_CONFIG_TEXT = 1_024
"""Characters of a text in the run's config that is kept with every checkpoint, to filter by."""


class DynamoDBSaver(BaseCheckpointSaver[Any]):
    """Checkpoints of any number of threads in one table (`functions.store.tables`).

    `client` brings its own timeouts, retries and pool (give it at least `clients.ASYNC_THREADS` connections); without one, boto3 finds
    endpoint, region and credentials. Payloads over 350 KB go to `bucket`, else into chunks in the table. A thread is served for
    `ttl_seconds` after its last use and expires within half of that time (`functions.store.expiry`); objects in `bucket` stay until
    `delete_thread`, since DynamoDB tells nobody what it removed. One saver serves all threads and tasks of a process.

    Raises `functions.store.errors.StoreError` with what to do about it, else what botocore raises.
    """

    def __init__(
        self,
        table_name: str,
        *,
        client: DynamoDBClient | None = None,
        endpoint_url: str | None = None,
        region_name: str | None = None,
        bucket: str | None = None,
        ttl_seconds: int | None = None,
        serde: SerializerProtocol | None = None,
        objects_client: S3Client | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._table = Table(table_name, client or dynamodb_client(endpoint_url, region_name), Calls())
        objects = Objects(objects_client or s3_client(endpoint_url, region_name), bucket, table_name) if bucket else None
        self._payloads = Payloads(Chunks(self._table), objects)
        self._segments = Segments(self._table, Known())
        self._threads = ThreadPoolExecutor(ASYNC_THREADS, thread_name_prefix="checkpoints")
        self._principal = ""
        self._epochs = Epochs()
        self._holding: Holding | None = None
        self._kept_alive: set[str] | None = None
        self._gatherings: Gatherings | None = None
        self.ttl_seconds = ttl_seconds

    def for_principal(self, principal: str) -> DynamoDBSaver:
        """The same saver, its every key under `principal`: equal thread ids of two principals are two threads."""
        view = copy.copy(self)
        view._principal = principal
        return view

    def held(self, grant: Grant, holding: Holding) -> DynamoDBSaver:
        """The same saver for one run, which has the lease of its thread: it writes in the lease's epoch, and not without the lease; reads
        nothing twice; and stores in one call what it is asked to store at one moment."""
        view = copy.copy(self)
        view._holding, view._epochs, view._kept_alive = holding, Epochs({grant.pk: grant.epoch}), set()
        view._table = Remembered(self._table.name, self._table.client, self._table.calls, grant.pk, grant.epoch)
        view._gatherings = Gatherings(lambda stores: view.in_thread(view._store_together, stores))
        return view

    # `with_allowlist` copies the saver and sets another `serde`: the parts are made for each call from what the saver has then.
    @property
    def _reader(self) -> Reader:
        return Reader(self._table, self._payloads, self._segments, self.serde, self._epochs)

    def _writer(self, table: Table) -> Writer:
        return Writer(table, self._payloads, self._segments, self.serde, self.ttl_seconds)

    @property
    def leases(self) -> Leases:
        """Of its threads, by `partition`."""
        return Leases(self._reader, self.ttl_seconds)

    @property
    def claims(self) -> Claims:
        """What its threads were told, by `partition`."""
        return Claims(self._reader, self.ttl_seconds)

    def events(self, keep_seconds: float) -> EventTable | None:
        """The events of its threads' runs, by `partition`: in the table `…events` beside its own. None: its own is not called
        `…checkpoints`."""
        prefix = self._table.name.removesuffix(CHECKPOINTS)
        named = prefix != self._table.name
        return EventTable(Table(f"{prefix}{EVENTS}", self._table.client, self._table.calls), keep_seconds) if named else None

    def partition(self, thread_id: str) -> str:
        """Partition key of a thread of this principal."""
        return keys.partition(self._principal, thread_id)

    def _writing(self) -> AbstractContextManager[None]:
        return self._holding.writing() if self._holding else nullcontext()

    def _confirm(self) -> None:
        """After a read: what the run does next must not begin on another's thread."""
        if self._holding:
            self._holding.confirm()

    @property
    def _upkeep(self) -> Upkeep:
        return Upkeep(self._reader, self._principal)

    def _address(self, config: RunnableConfig) -> keys.Address:
        ids = config["configurable"]
        thread_id = str(ids["thread_id"])
        return keys.Address(
            keys.partition(self._principal, thread_id), thread_id, ids.get("checkpoint_ns") or "", get_checkpoint_id(config)
        )

    def _own(self, address: keys.Address) -> keys.Address:
        """In the thread's epoch, which is where it is written."""
        return address._replace(epoch=self._reader.epoch(address.pk))

    # sync

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint of the config's id, or the latest of its namespace. That is a use of the thread: with a TTL its expiry moves."""
        found = self._found(self._address(config), self.ttl_seconds)
        self._confirm()
        return found

    def _found(self, address: keys.Address, ttl_seconds: int | None) -> CheckpointTuple | None:
        if ttl_seconds is None or address.pk in (self._kept_alive or ()):
            return self._reader.get(address)
        calls: list[Callable[[], Any]] = [partial(self._reader.get, address), partial(self._upkeep.lags, address.pk, ttl_seconds)]
        found, lags = self._table.calls.each(lambda call: call(), calls)
        if lags:
            self._upkeep.keep_alive(address.pk, ttl_seconds)
        if self._kept_alive is not None:  # in a run once
            self._kept_alive.add(address.pk)
        return cast("CheckpointTuple | None", found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Newest first. Without `checkpoint_ns` over all namespaces; without a config over all threads of the principal (a scan)."""
        for page in self._pages(config, filter, before, limit):
            yield from page

    def _pages(
        self, config: RunnableConfig | None, filter: dict[str, Any] | None, before: RunnableConfig | None, limit: int | None
    ) -> Iterator[Sequence[CheckpointTuple]]:
        reader = self._reader
        wanted = partial(_wanted, reader, filter or {}, get_checkpoint_id(before) if before else None)
        left = math.inf if limit is None else limit
        pages = self._records(reader, config, wanted, before, None if filter else limit)
        while left > 0 and (page := next(pages, None)) is not None:
            matches = [found for found in page if wanted(found)]
            yield reader.tuples(matches if left == math.inf else matches[: int(left)])
            left -= len(matches)

    def _records(
        self,
        reader: Reader,
        config: RunnableConfig | None,
        wanted: Callable[[Record], bool],
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Iterator[Sequence[Record]]:
        if config is None:
            return reader.everywhere(self._principal, None, wanted, limit)
        address = self._address(config)
        if address.checkpoint_id is not None:
            return iter([reader.one(address, address.checkpoint_id)])
        if config["configurable"].get("checkpoint_ns") is None:
            return reader.everywhere(self._principal, address.pk, wanted, limit)
        return reader.in_namespace(address, get_checkpoint_id(before) if before else None, limit)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Stores the checkpoint whole; `new_versions` is not needed for that."""
        with self._writing():
            self._put(config, checkpoint, metadata, self._table)
        return self._address(config).config(checkpoint["id"])

    def _put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, table: Table) -> None:
        self._writer(table).checkpoint(self._own(self._address(config)), checkpoint, _metadata(config, metadata))

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """One call for up to 50 writes. A position that is taken keeps its value; error, interrupt, resume and schedule overwrite."""
        with self._writing():
            self._put_writes(config, writes, task_id, task_path, self._table)

    def _put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str, table: Table) -> None:
        self._writer(table).pending(self._own(self._address(config)), writes, task_id, task_path)

    def _store_together(self, stores: Sequence[Store]) -> Sequence[BaseException | None]:
        held = cast(Remembered, self._table)
        with self._writing():
            return store_all(Outbox(held.name, held.client, held.calls, held.pk, held.epoch, held.memory), stores)

    def delete_thread(self, thread_id: str) -> None:
        """Also the events of its runs, where their table is there."""
        if (events := self.events(0)) is not None:
            with suppress(TableMissing):
                events.delete_thread(self.partition(str(thread_id)))
        self._upkeep.delete_thread(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Reads the whole table; a thread with delta channels that need a deleted checkpoint raises `AncestorMissing` when it is read."""
        if run_ids:
            self._upkeep.delete_runs(run_ids)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._upkeep.copy_thread(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self._upkeep.prune([str(thread_id) for thread_id in thread_ids], strategy)

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        if not channels:
            return {}
        found = delta_history(self._reader, self._address(config), channels)
        self._confirm()
        return found

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Counts in integers (no key holds them; the usual strings take ten times the bytes). Other savers' strings are continued."""
        if isinstance(current, str):
            number, _, rest = current.partition(".")
            return f"{int(number) + 1:0{len(number)}}.{rest}"
        return super().get_next_version(current, channel)

    # async: the same calls on threads of the saver's own, so that they neither block the loop nor queue behind its default ones

    def begin(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """A call on the saver's threads, in the context of whoever begins it; for callers without an event loop."""
        return self._threads.submit(contextvars.copy_context().run, partial(call, *args, **kwargs))

    async def in_thread(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """A blocking call of the store, off the event loop."""
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(context.run, call, *args, **kwargs))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.in_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        pages = self._pages(config, filter, before, limit)
        while (page := await self.in_thread(_next, pages)) is not None:
            for found in page:
                yield found

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        if self._gatherings is None:
            return await self.in_thread(self.put, config, checkpoint, metadata, new_versions)
        address = self._address(config)
        await self._gatherings.here.add((address.namespace, checkpoint["id"]), partial(self._put, config, checkpoint, metadata))
        return address.config(checkpoint["id"])

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        if self._gatherings is None:
            await self.in_thread(self.put_writes, config, writes, task_id, task_path)
        else:
            address = self._address(config)
            whose = (address.namespace, address.checkpoint_id, task_id)
            await self._gatherings.here.add(whose, partial(self._put_writes, config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        await self.in_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self.in_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self.in_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self.in_thread(partial(self.prune, thread_ids, strategy=strategy))

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        return await self.in_thread(partial(self.get_delta_channel_history, config=config, channels=channels))


def _metadata(config: RunnableConfig, metadata: CheckpointMetadata) -> CheckpointMetadata:
    """LangGraph's rule (user keys never replace its own), without long texts of the run's config: a prompt of 32,000 characters in
    `configurable` would be written again with every step."""
    full = get_checkpoint_metadata(config, metadata)
    short = {k: v for k, v in full.items() if k in metadata or not isinstance(v, str) or len(v) <= LONGEST_CONFIG_TEXT}
    return cast(CheckpointMetadata, short)


def _wanted(reader: Reader, filter: Mapping[str, Any], before: str | None, found: Record) -> bool:
    if before is not None and found.checkpoint_id >= before:
        return False
    if not filter:
        return True
    metadata = reader.metadata(found)
    return all(metadata.get(name) == value for name, value in filter.items())


def _next(pages: Iterator[Sequence[CheckpointTuple]]) -> Sequence[CheckpointTuple] | None:
    return next(pages, None)
