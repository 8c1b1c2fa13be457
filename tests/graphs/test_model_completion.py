"""The completion through a chat model: the same promises as the one at an endpoint, for any provider."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.graph import MessagesState
from pydantic import Field

from graphs.completion import Completion, Mode, Prompt
from graphs.model_completion import over_model
from graphs.models import ScriptedModel
from tests.functions.runs.conftest import thread
from tests.support.agent_thread import AgentThread, single
from tests.support.small_graphs import pieces
from tests.support.writing import scripted, thinking, told

__all__ = ["thread"]

New = Callable[..., AgentThread]


def asking(complete: Completion, mode: Mode, got: list[Any]) -> Any:
    """A graph of one node that keeps the completion's text, or its exception, in `got`."""

    async def node(state: MessagesState) -> dict[str, Any]:
        try:
            got.append(await complete(Prompt("be brief", "hi", 0.3, mode)))
        except (RuntimeError, TimeoutError) as error:
            got.append(error)
        return {}

    return single(node)


async def test_silent_emits_nothing(thread: New) -> None:
    """The text comes back trimmed; neither it nor the thinking is on the stream; its tokens are the run's."""
    got: list[Any] = []
    model = scripted(thinking("hm", " hello \n"))
    run = await thread(asking(over_model(model), "silent", got)).say("go")
    assert (got, told(run)) == (["hello"], [])
    assert run.end["usage"][0]["outputTokens"] > 0
    assert [(m.type, m.text) for m in model.calls[0]] == [("system", "be brief"), ("human", "hi")]


async def test_reasoning_is_streamed_and_the_text_is_not(thread: New) -> None:
    """A message of its own for each block of thoughts; the content only accumulates."""
    got: list[Any] = []
    turn = pieces(("reasoning", "let ", 0), ("reasoning", "me", 0), ("text", " a", 1), ("reasoning", "more", 2), ("text", "b ", 3))
    run = await thread(asking(over_model(scripted(turn)), "streamReasoning", got)).say("go")
    assert (got, told(run)) == (["ab"], ["REASONING let me", "REASONING more"])
    assert run.end["usage"][0]["outputTokens"] > 0


async def test_reasoning_content_of_compatible_servers(thread: New) -> None:
    """Where a provider's package puts the thoughts beside the content."""
    turn = [AIMessageChunk(content="", additional_kwargs={"reasoning_content": "hm"}), AIMessageChunk(content="a")]
    got: list[Any] = []
    run = await thread(asking(over_model(scripted(turn)), "streamReasoning", got)).say("go")
    assert (got, told(run)) == (["a"], ["REASONING hm"])


async def test_a_failure_closes_what_is_open(thread: New) -> None:
    """The stream checker would find a message without its end."""
    got: list[Any] = []
    turn = [*pieces(("reasoning", "hm", 0)), RuntimeError("cut")]
    run = await thread(asking(over_model(scripted(turn)), "streamReasoning", got)).say("go")
    assert ([str(error) for error in got], run.outcome) == (["cut"], "success")
    assert run.types.count("REASONING_MESSAGE_END") == 1


@pytest.mark.parametrize("mode", ["silent", "streamReasoning"])
async def test_it_has_a_timeout(mode: Mode) -> None:
    """Of the whole call."""
    slow = ScriptedModel(turns=["one two three"], delay_ms=2_000)
    with pytest.raises(TimeoutError):
        await over_model(slow, timeout=0.05)(Prompt("s", "u", mode=mode))


class Watched(ScriptedModel):
    """Knows whether its call was cancelled."""

    seen: Any = Field(default_factory=list)
    begun: Any = Field(default_factory=asyncio.Event)

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        try:
            async for chunk in super()._astream(*args, **kwargs):
                self.begun.set()
                yield chunk
        except (asyncio.CancelledError, GeneratorExit):
            self.seen.append("cancelled")
            raise


@pytest.mark.parametrize("mode", ["silent", "streamReasoning"])
async def test_it_is_cancelled_with_its_task(mode: Mode) -> None:
    """No call goes on that nobody waits for."""
    model = Watched(turns=["word " * 500], delay_ms=5)
    task: asyncio.Task[str] = asyncio.ensure_future(_text(over_model(model)(Prompt("s", "u", mode=mode))))
    await model.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.seen == ["cancelled"]


async def _text(said: Awaitable[str]) -> str:
    return await said
