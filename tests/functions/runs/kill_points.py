"""The kill-point table: a process dies at every DynamoDB and S3 call of a run, and another one goes on with its thread.

python -m tests.functions.runs.kill_points        all points, all recoveries, with a bucket and without → results/kill_points.txt
"""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from functions.store import keys
from functions.store.tables import TABLES
from tests.support import mortal_run, recoveries
from tests.support.boundaries import Boundary
from tests.support.mortal_run import APPROVE, Client, Json, World
from tests.support.recoveries import Account, Story, account, answer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

AT_ONCE = 3
"""Processes side by side."""
PATIENCE = 60.0
"""Seconds that any of them may take."""


@dataclass(frozen=True, slots=True)
class Point:
    """A story that was cut off at a boundary, and how its thread went on."""

    story: Story
    boundary: Boundary
    how: str
    account: Account
    reference: tuple[Json, ...]


class Theatre:
    """Plays stories on threads of one world, from the process that counts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._clients = world.clients()
        self._dynamodb: DynamoDBClient = self._clients[0]

    # -- threads

    def copy(self, source: str, target: str) -> str:
        """Everything of a thread, its lease and its journal too."""
        self._create(target)
        key = keys.partition("", target)
        own = {":pk": {"S": keys.partition("", source)}}
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self.world.table(source), KeyConditionExpression="pk = :pk", ExpressionAttributeValues=own
        )
        for item in (item for page in pages for item in page["Items"]):
            self._dynamodb.put_item(TableName=self.world.table(target), Item={**item, "pk": {"S": key}})
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
        self._play(tools, "cut-off", self._half_way(tools))
        time.sleep(self.world.lease_seconds)
        return {story.name: story for story in (ask, resume, tools, Story("take-over", "cut-off", tools.request))}

    def _play(self, story: Story, thread_id: str, stop: Boundary | None = None) -> None:
        self.copy(story.template, thread_id)
        process = mortal_run.start(self.world, thread_id, story.request, stop)
        ended(process, -signal.SIGKILL if stop else 0)

    def _half_way(self, story: Story) -> Boundary:
        """One of the two tools has its result stored, the other has not."""
        stores = [entry for entry in self._played(story).entries("boundary") if entry["task"] and entry["side"] == "before"]
        return Boundary("before", stores[-2]["call"], stores[-2]["number"])

    def _played(self, story: Story) -> Any:
        thread_id = uuid.uuid4().hex
        self._play(story, thread_id)
        return self.world.journal(thread_id)

    def boundaries(self, story: Story) -> list[Boundary]:
        """Of a run that is not cut off, in order; beats come when they come."""
        start = len(self.world.journal(story.template).entries("boundary"))
        entries = self._played(story).entries("boundary")[start:]
        return [Boundary(e["side"], e["call"], e["number"]) for e in entries if not e["call"].endswith("(beat)")]

    # -- points

    def points(self, stories: Sequence[Story], hows: Sequence[str]) -> Iterator[Point]:
        """Kills all, waits until their leases are over, recovers all."""
        cut = [(story, at, f"{story.name}-{number}") for story in stories for number, at in enumerate(self.boundaries(story))]
        for batch in _batches(cut):
            self._kill(batch)
        time.sleep(self.world.lease_seconds)
        tasks = [(f"{thread_id}-{how}", story, how) for story, _, thread_id in cut for how in hows]
        for thread_id, _, how in tasks:
            self.copy(thread_id.removesuffix(f"-{how}"), thread_id)
        references = self._recover([*tasks, *((f"whole-{story.name}", story, "again") for story in stories)], stories)
        for story, at, thread_id in cut:
            for how in hows:
                yield Point(story, at, how, account(self.world.journal(f"{thread_id}-{how}"), story), references[story.name])

    def _kill(self, cut: Sequence[tuple[Story, Boundary, str]]) -> None:
        processes = []
        for story, at, thread_id in cut:
            self.copy(story.template, thread_id)
            processes.append(mortal_run.start(self.world, thread_id, story.request, at))
        for process, (_, at, thread_id) in zip(processes, cut, strict=True):
            ended(process, -signal.SIGKILL)
            stopped = self.world.journal(thread_id).entries("stopped")[-1]
            assert stopped["at"] == str(at)

    def _recover(self, tasks: Sequence[tuple[str, Story, str]], stories: Sequence[Story]) -> dict[str, tuple[Json, ...]]:
        for story in stories:
            self._play(story, f"whole-{story.name}")
        for process in [recoveries.start(self.world, tasks[number::2]) for number in range(2)]:
            ended(process, 0)
        return {story.name: account(self.world.journal(f"whole-{story.name}"), story).messages for story in stories}


def ended(process: BaseProcess, code: int) -> None:
    """Waits for it, and leaves none behind."""
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode == code, f"{process.exitcode} instead of {code}"


def _batches(given: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(given), AT_ONCE):
        yield given[start : start + AT_ONCE]
