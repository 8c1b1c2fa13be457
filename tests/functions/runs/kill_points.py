"""The kill-point table: a process dies at every DynamoDB and S3 call of a run, and another one goes on with its thread.

python -m tests.functions.runs.kill_points        all points, all recoveries, with a bucket and without → results/kill_points.txt
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from functions.store import keys
from functions.store.clients import dynamodb_client, s3_client
from functions.store.tables import TABLES, create_tables
from tests.support import mortal_run, recoveries
from tests.support.boundaries import Boundary
from tests.support.dynamodb import dynalite_server
from tests.support.mortal_run import APPROVE, Client, Json, World
from tests.support.moto_server import moto_server
from tests.support.recoveries import Account, Story, account, answer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

READS = ("Query", "GetItem", "S3 GetObject")
AT_ONCE = 3
"""Processes side by side."""
RECOVERIES_EACH = 12
"""Threads that one process goes on with."""
FROZEN_AT_ONCE = 25
LEASE_SECONDS = 2.0
RESULTS = Path(__file__).parent / "results"
PATIENCE = 240.0
"""Seconds that any of them may take."""


@dataclass(frozen=True, slots=True)
class Point:
    """A story that was cut off at a boundary, and how its thread went on."""

    story: Story
    boundary: Boundary
    how: str
    account: Account
    reference: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Freeze:
    """A process that slept at a boundary while another one finished its run. `account` is from before it woke up; `outcome`, `ran` and
    `wrote` say what it did then, `messages` what the thread holds in the end."""

    story: Story
    boundary: Boundary
    account: Account
    reference: tuple[Json, ...]
    outcome: str
    ran: tuple[str, ...]
    wrote: tuple[str, ...]
    messages: tuple[Json, ...]


class Theatre:
    """Plays stories on threads of one world, from the process that counts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._clients = world.clients()
        self._dynamodb: DynamoDBClient = self._clients[0]
        self._references: dict[str, tuple[Json, ...]] = {}

    # -- threads

    def copy(self, source: str, target: str) -> str:
        """Everything of a thread, its lease and its journal too."""
        self._create(target)
        key = keys.partition("", target)
        own = {":pk": {"S": keys.partition("", source)}}
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self.world.table(source), KeyConditionExpression="pk = :pk", ExpressionAttributeValues=own
        )
        puts: list[Any] = [{"PutRequest": {"Item": {**item, "pk": {"S": key}}}} for page in pages for item in page["Items"]]
        for batch in _batches(puts, 25):
            self._dynamodb.batch_write_item(RequestItems={self.world.table(target): batch})
        if (journal := self.world.journal(source).path).exists():
            self.world.journal(target).path.write_bytes(journal.read_bytes())
        return target

    def _create(self, thread_id: str) -> None:
        if not self.world.named.endswith("-"):
            return
        schema = TABLES["checkpoints"]
        self._dynamodb.create_table(
            TableName=self.world.table(thread_id),
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in (schema.partition_key, schema.sort_key)],
            KeySchema=[
                {"AttributeName": schema.partition_key, "KeyType": "HASH"},
                {"AttributeName": schema.sort_key, "KeyType": "RANGE"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )

    def load(self, thread_id: str) -> tuple[list[Json], list[str]]:
        return asyncio.run(Client(self.world, thread_id, self._clients).load())

    # -- stories

    @cached_property
    def stories(self) -> dict[str, Story]:
        """A run that stops at a question; its resume; a run with two tools side by side; a run that takes over from a dead one."""
        self._create("empty")
        ask = Story("ask", "empty", {"runId": "run-1", "messages": [self.world.message("m1", "pay the bill")]})
        self._play(ask, "asked")
        history, (question,) = self.load("asked")
        resume = Story("answer", "asked", {"runId": "run-2", "messages": history, "resume": answer(question, APPROVE)}, question)
        self._play(resume, "answered")
        history, _ = self.load("answered")
        tools = Story("tools", "answered", {"runId": "run-3", "messages": [*history, self.world.message("m2", "look around")]})
        apart = Story("apart", "answered", {"runId": "run-3", "messages": [*history, self.world.message("m2", "look apart")]})
        self._play(apart, "cut-off", self._half_way(apart))
        time.sleep(self.world.lease_seconds)
        return {story.name: story for story in (ask, resume, tools, Story("take-over", "cut-off", apart.request))}

    def _play(self, story: Story, thread_id: str, stop: Boundary | None = None) -> None:
        self.copy(story.template, thread_id)
        process = mortal_run.start(self.world, thread_id, story.request, stop)
        ended(process, -signal.SIGKILL if stop else 0)

    def _half_way(self, story: Story) -> Boundary:
        """One of the two tools has its result stored, the other has not."""
        stores = [entry for entry in self._played(story).entries("boundary") if entry["tasks"] and entry["side"] == "before"]
        return Boundary("before", stores[-2]["call"], stores[-2]["number"])

    def _played(self, story: Story) -> Any:
        thread_id = uuid.uuid4().hex
        self._play(story, thread_id)
        return self.world.journal(thread_id)

    def boundaries(self, story: Story) -> list[Boundary]:
        """Of a run that is not cut off, in order; not those of beats, which come when they come."""
        start = len(self.world.journal(story.template).entries("boundary"))
        entries = self._played(story).entries("boundary")[start:]
        return [Boundary(e["side"], e["call"], e["number"]) for e in entries if not e["call"].endswith("(beat)")]

    def telling(self, story: Story) -> list[Boundary]:
        """Those that make a difference to who comes next: before each call that changes something, and after the last one."""
        found = self.boundaries(story)
        changing = [at for at in found if not at.call.startswith(READS)]
        return [at for at in changing if at.side == "before"] + changing[-1:]

    # -- points

    def points(self, chosen: Mapping[str, Sequence[Boundary]], hows: Sequence[str]) -> Iterator[Point]:
        """Kills the stories at these boundaries, waits until their leases are over, recovers all."""
        stories = [self.stories[name] for name in chosen]
        run = uuid.uuid4().hex[:8]
        cut = [(story, at, f"{story.name}-{number}-{run}") for story in stories for number, at in enumerate(chosen[story.name])]
        for batch in _batches(cut, AT_ONCE):
            self._kill(batch)
        time.sleep(self.world.lease_seconds)
        tasks = [(f"{thread_id}-{how}", story, how) for story, _, thread_id in cut for how in hows]
        for thread_id, _, how in tasks:
            self.copy(thread_id.removesuffix(f"-{how}"), thread_id)
        self._recover(tasks)
        for story, at, thread_id in cut:
            for how in hows:
                yield Point(story, at, how, account(self.world.journal(f"{thread_id}-{how}"), story), self.reference(story))

    def _kill(self, cut: Sequence[tuple[Story, Boundary, str]]) -> None:
        processes = []
        for story, at, thread_id in cut:
            self.copy(story.template, thread_id)
            processes.append(mortal_run.start(self.world, thread_id, story.request, at))
        for process, (_, at, thread_id) in zip(processes, cut, strict=True):
            ended(process, -signal.SIGKILL)
            stopped = self.world.journal(thread_id).entries("stopped")[-1]
            assert stopped["at"] == str(at)

    # -- freezing

    def freezes(self, story: Story, boundaries: Sequence[Boundary]) -> Iterator[Freeze]:
        """Stops a process at each boundary, lets another take the thread over and finish, and thaws the first."""
        for batch in _batches(list(enumerate(boundaries)), FROZEN_AT_ONCE):
            frozen: list[tuple[BaseProcess, Boundary, str]] = []
            try:
                frozen += (self._freeze(story, at, f"frozen-{story.name}-{number}") for number, at in batch)
                time.sleep(self.world.lease_seconds)
                ended(recoveries.start(self.world, [(thread_id, story, "again") for _, _, thread_id in frozen]), 0)
                for process, at, thread_id in frozen:
                    yield self._thaw(story, process, at, thread_id)
            finally:
                for process, _, _ in frozen:
                    process.kill()

    def _freeze(self, story: Story, at: Boundary, thread_id: str) -> tuple[BaseProcess, Boundary, str]:
        self.copy(story.template, thread_id)
        seen = len(self.world.journal(thread_id).entries("stopped"))
        process = mortal_run.start(self.world, thread_id, story.request, at, signal.SIGSTOP)
        self.world.journal(thread_id).wait_for("stopped", seen + 1)
        return process, at, thread_id

    def _thaw(self, story: Story, process: BaseProcess, at: Boundary, thread_id: str) -> Freeze:
        journal = self.world.journal(thread_id)
        told = account(journal, story)
        seen = len(journal.entries())
        assert process.pid is not None
        os.kill(process.pid, signal.SIGCONT)
        ended(process, 0)
        late = journal.entries()[seen:]
        outcome = next(entry["outcome"] for entry in late if entry["what"] == "end")
        ran = [entry["name"] for entry in late if entry["what"] == "ran"]
        wrote = [entry["call"] for entry in late if entry["what"] == "boundary" and entry["side"] == "after" and _stores(entry["call"])]
        messages = asyncio.run(Client(self.world, thread_id, self._clients).messages())
        return Freeze(story, at, told, self.reference(story), outcome, tuple(ran), tuple(wrote), tuple(messages))

    # -- what is compared with

    def reference(self, story: Story) -> tuple[Json, ...]:
        """What the thread holds when nothing is cut off."""
        if story.name not in self._references:
            self._play(story, thread_id := uuid.uuid4().hex)
            self._recover([(thread_id, story, "again")])
            self._references[story.name] = account(self.world.journal(thread_id), story).messages
        return self._references[story.name]

    def _recover(self, tasks: Sequence[tuple[str, Story, str]]) -> None:
        for some in _batches(list(_batches(tasks, RECOVERIES_EACH)), AT_ONCE):
            for process in [recoveries.start(self.world, each) for each in some]:
                ended(process, 0)


# -- the table


def line(point: Point) -> str:
    """Boundary, what the next process was told step by step, what ran once more."""
    account = point.account
    twice = f"  ran twice: {', '.join(account.twice)}" if account.twice else ""
    wrongly = f"  WRONGLY: {', '.join(account.wrongly)}" if account.wrongly else ""
    return f"{point.story.name:10}{point.boundary!s:40}{' → '.join(account.said):60}{_came_of(point)}{twice}{wrongly}"


def _came_of(point: Point) -> str:
    if point.account.messages == point.reference:
        return "same state"
    if point.how != "other":
        return "OTHER STATE"
    return "the new message is answered" if point.story.question is None else "the second answer is the only one"


def thawed(freeze: Freeze) -> str:
    """Boundary, how the thawed run ended, what it did before it knew."""
    did = [f"ran {name}" for name in freeze.ran] + [f"wrote {call}" for call in freeze.wrote]
    kept = "same state" if freeze.messages == freeze.account.messages == freeze.reference else "OTHER STATE"
    return f"{freeze.story.name:10}{freeze.boundary!s:40}{freeze.outcome:14}{kept}  {', '.join(did)}".rstrip()


def report(theatre: Theatre, hows: Sequence[str]) -> Iterator[str]:
    """Every boundary of every story, each way to go on; then the frozen ones."""
    everything = {name: theatre.boundaries(story) for name, story in theatre.stories.items()}
    for name, boundaries in everything.items():
        for point in theatre.points({name: boundaries}, hows):
            yield line(point)
    yield "\nfrozen before the call or after its answer, thawed when another process had finished the run:"
    for name, story in theatre.stories.items():
        for freeze in theatre.freezes(story, everything[name]):
            yield thawed(freeze)


def main(bucket: bool) -> None:
    name = "kill_points_bucket.txt" if bucket else "kill_points.txt"
    server = moto_server() if bucket else dynalite_server()
    with tempfile.TemporaryDirectory() as folder, server as endpoint, (RESULTS / name).open("w") as results:
        for written in report(Theatre(_world(endpoint, Path(folder), bucket)), ["again"] if bucket else recoveries.RECOVERIES):
            print(written, file=results, flush=True)


def _world(endpoint: str, folder: Path, bucket: bool) -> World:
    if bucket:
        s3_client(endpoint, "us-east-1").create_bucket(Bucket="payloads")
        return World(endpoint, "kill-", "payloads", folder, LEASE_SECONDS)
    table = create_tables(dynamodb_client(endpoint, "us-east-1"), "kill-")["checkpoints"]
    return World(endpoint, table, None, folder, LEASE_SECONDS)


def ended(process: BaseProcess, code: int) -> None:
    """Waits for it, and leaves none behind."""
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode == code, f"{process.exitcode} instead of {code}"


def _stores(call: str) -> bool:
    return call.endswith((" writes", " checkpoint", " chunk", " segment")) and not call.startswith(READS)


def _batches(given: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(given), size):
        yield given[start : start + size]


if __name__ == "__main__":
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        os.environ[name] = "test"
    main("bucket" in sys.argv)
