"""What a client does about a run that was cut off: one of three first steps, then whatever brings the thread to rest."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any

from tests.support.boundaries import Journal
from tests.support.mortal_run import APPROVE, FORKS, REJECT, Client, Json, World, quiet

MOST_STEPS = 6
"""A thread that has not come to rest by then is stuck."""
RECOVERIES = ("again", "empty", "other")
"""The same request once more; a page that is loaded anew and asks for the rest; another answer, or another message."""


@dataclass(frozen=True, slots=True)
class Story:
    """One request on a thread that was brought to `template`. `question`: the one that it answers."""

    name: str
    template: str
    request: Json
    question: str | None = None

    @property
    def message(self) -> Json:
        found: Json = [message for message in self.request["messages"] if message["role"] == "user"][-1]
        return found


def answer(question: str, payload: Any) -> list[Json]:
    return [{"interruptId": question, "status": "resolved", "payload": payload}]


class Recovery:
    """A client that goes on with a thread in a process of its own."""

    def __init__(self, client: Client, story: Story, how: str) -> None:
        self._client = client
        self._story, self._how = story, how
        says_something_else = how == "other" and story.question is None
        self._message = {"id": "new", "role": "user", "content": "look elsewhere"} if says_something_else else story.message
        self._wanted = self._message["id"]
        self.said: list[str] = []

    async def run(self) -> None:
        step, request = self._how, await self._first()
        for number in range(MOST_STEPS):
            outcome = await self._client.send({**request, "runId": request.get("runId", f"recovery-{number}")})
            self.said.append(f"{step}: {outcome}")
            following = await self._next(outcome, step)
            if following is None:
                break
            step, request = following
        self._client.journal.note("final", said=self.said, messages=await self._client.messages())

    async def _first(self) -> Json:
        if self._how == "again":
            return self._story.request
        history, _ = await self._client.load()
        if self._how == "empty":
            return {"messages": history}
        if self._story.question is not None:
            return {"messages": history, "resume": answer(self._story.question, REJECT)}
        return {"messages": [*history, self._message]}

    async def _next(self, outcome: str, step: str) -> tuple[str, Json] | None:
        """Nothing when the thread is at rest."""
        history, questions = await self._client.load()
        if questions:
            return "answer", {"messages": history, "resume": [entry for asked in questions for entry in answer(asked, APPROVE)]}
        if self._wanted not in {message["id"] for message in history}:
            return "send", {"messages": [*history, self._message]}
        if history[-1]["role"] == "user" and outcome == "success":
            # it came beside an answer, which took precedence
            return "send", {"messages": history}
        if outcome == "success" or (outcome == "BAD_INPUT" and step == "empty"):
            return None
        return "empty", {"messages": history}


def start(world: World, tasks: Sequence[tuple[str, Story, str]]) -> BaseProcess:
    """A process that goes on with these threads, one after the other: (thread, story, recovery)."""
    process = FORKS.Process(target=_recover, args=(world, list(tasks)))
    process.start()
    return process


def _recover(world: World, tasks: Sequence[tuple[str, Story, str]]) -> None:
    quiet()
    clients = world.clients()
    for thread_id, story, how in tasks:
        asyncio.run(Recovery(Client(world, thread_id, clients), story, how).run())


@dataclass(frozen=True, slots=True)
class Account:
    """What a thread's journal says in the end: what the recovering client heard, what the thread holds, and what ran twice.

    `twice`: tools and model calls whose result was not stored when their process ended. `wrongly`: those that ran again although it was, or
    twice in one process.
    `accepted`: the request was, by the run that was cut off or by the one after it.
    """

    said: tuple[str, ...]
    messages: tuple[Json, ...]
    twice: tuple[str, ...]
    wrongly: tuple[str, ...]
    accepted: bool


def account(journal: Journal, story: Story) -> Account:
    stored: set[str] = set()
    ran: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    twice: list[str] = []
    wrongly: list[str] = []
    for entry in journal.entries("ran", "boundary"):
        if entry["what"] == "boundary":
            stored |= set(entry["tasks"]) if entry["side"] == "after" else set()
            continue
        key = (entry["name"], entry["task"], entry["call"])
        name = " ".join(filter(None, (entry["name"], entry["call"])))
        twice += [name] if ran[key] else []
        wrongly += [name] if entry["task"] in stored or entry["pid"] in ran[key] else []
        ran[key].add(entry["pid"])
    (final,) = journal.entries("final")
    accepted = any(entry["run"] == story.request["runId"] for entry in journal.entries("accepted"))
    return Account(tuple(final["said"]), tuple(final["messages"]), tuple(twice), tuple(wrongly), accepted)
