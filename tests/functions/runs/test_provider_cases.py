"""Four providers × what they can do, each through its own LangChain package over a real socket, in whole runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.graph import MessagesState, StateGraph

from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, Run, single
from tests.support.chat_wire import Answer, Wire, chat_wire
from tests.support.dialects import CACHED, DIALECTS, INPUT, OUTPUT, SIGNATURE, Dialect, Said, aws_event
from tests.support.small_graphs import react, text

THOUGHT = Said(reasoning=["Let me", " see."], text=["It is", " tea."])
CALLS = Said(calls=[("call_a", "text", ['{"q":', ' "a"}']), ("call_b", "text", ['{"q":', ' "b"}'])])
HALF = Said(text=["half", " a", " word", " more"])
SECRET = "key sk-123 of db-7.internal"


@pytest.fixture(scope="module")
def served() -> Iterator[Wire]:
    with chat_wire() as wire:
        yield wire


@pytest.fixture
def wire(served: Wire) -> Wire:
    served.asked.clear()
    served.first.clear()
    served.cut = False
    return served


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return DIALECTS[request.param]


def asking(model: Any, *, direct: bool = False) -> StateGraph[Any, Any, Any, Any]:
    async def node(state: MessagesState) -> Json:
        if not direct:
            return {"messages": [await model.ainvoke(state["messages"])]}
        chunks = [chunk async for chunk in model.astream(state["messages"])]
        return {"messages": [sum(chunks[1:], chunks[0])]}

    return single(node)


def deltas(run: Run, kind: str) -> list[str]:
    return [event["delta"] for event in run.of(f"{kind}_CONTENT")]


def counted(run: Run) -> Json:
    (usage,) = run.end["usage"]
    return dict(usage)


@pytest.mark.parametrize("direct", [False, True])
async def test_thinking_and_text(dialect: Dialect, direct: bool, wire: Wire, thread: NewThread) -> None:
    """Piece by piece, thinking closed before the text opens; the snapshot has both, under the ids that were streamed, in the store too."""
    dialect.say(wire, THOUGHT)
    talk = thread(asking(dialect.model(wire), direct=direct))
    run = await talk.say("x")
    assert (deltas(run, "REASONING_MESSAGE"), deltas(run, "TEXT_MESSAGE")) == (["Let me", " see."], ["It is", " tea."])
    assert run.types.index("REASONING_MESSAGE_END") < run.types.index("TEXT_MESSAGE_START")
    assert [(m["role"], m["content"]) for m in run.snapshot[1:]] == [("reasoning", "Let me see."), ("assistant", "It is tea.")]
    assert run.snapshot[-1]["id"] == (await talk.stored())[-1].id == run.of("TEXT_MESSAGE_START")[0]["messageId"]


async def test_usage(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """Tokens read, written, cached, thought, as far as the provider tells them; the parts are parts of the whole."""
    dialect.say(wire, THOUGHT)
    usage = counted(await thread(asking(dialect.model(wire))).say("x"))
    whose = {"provider": dialect.provider, "model": dialect.model_name, "totalTokens": INPUT + OUTPUT}
    assert usage == {**whose, **dialect.usage}


async def test_signatures_go_back(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """A signature comes for its thinking and goes back with the history, where the provider has one."""
    dialect.say(wire, THOUGHT)
    talk = thread(asking(dialect.model(wire)))
    run = await talk.say("x")
    signatures = [(e["entityId"], e["encryptedValue"]) for e in run.of("REASONING_ENCRYPTED_VALUE")]
    assert signatures == ([(run.of("REASONING_MESSAGE_START")[0]["messageId"], SIGNATURE)] if dialect.signs else [])
    await talk.say("and")
    history = json.dumps(wire.asked[-1]["messages"])
    assert "It is tea." in history
    assert (SIGNATURE in history) is dialect.signs


async def test_parallel_calls(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """Two calls in one turn, their arguments in pieces; both run, their results go back under their ids, both turns are counted."""
    dialect.say(wire, CALLS)
    model = dialect.model(wire).bind_tools([text])

    async def ask(state: MessagesState) -> Json:
        if len(state["messages"]) > 1:
            dialect.say(wire, Said(text=["done"]))
        return {"messages": [await model.ainvoke(state["messages"])]}

    run = await thread(react(model, text, ask=ask)).say("x")
    pieces = [(event["toolCallId"], event["delta"]) for event in run.of("TOOL_CALL_ARGS")]
    assert sorted(pieces) == [("call_a", ' "a"}'), ("call_a", '{"q":'), ("call_b", ' "b"}'), ("call_b", '{"q":')]
    assert (run.results, run.text) == ({"call_a": "about a", "call_b": "about b"}, "done")
    sent = json.dumps(wire.asked[-1]["messages"])
    assert all(word in sent for word in ("call_a", "about a", "call_b", "about b"))
    assert (counted(run)["inputTokens"], counted(run)["cachedInputTokens"]) == (2 * INPUT, 2 * CACHED)


async def test_a_refusal_in_words(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """Its words are what the user reads, and stay in the thread."""
    dialect.say(wire, Said(text=["I can", " not."], refused=True))
    run = await thread(asking(dialect.model(wire))).say("x")
    assert (deltas(run, "TEXT_MESSAGE"), run.outcome) == (["I can", " not."], "success")
    assert run.snapshot[-1]["content"] == "I can not."


async def test_a_silent_refusal(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """Nothing was said: an error of its own instead of an empty answer, with what it cost; nothing is stored."""
    dialect.say(wire, Said(refused=True))
    talk = thread(asking(dialect.model(wire)))
    run = await talk.say("x")
    assert (run.outcome, counted(run)["outputTokens"]) == ("LLM_REFUSED", OUTPUT)
    assert [message.type for message in await talk.stored()] == ["human"]


STATUSES = {401: "LLM_AUTH_FAILED", 429: "LLM_RATE_LIMITED", 500: "AGENT_INTERNAL"}


@pytest.mark.parametrize("status", STATUSES)
async def test_statuses(dialect: Dialect, status: int, wire: Wire, thread: NewThread) -> None:
    """The SDK's own exceptions, as they come out of a run; the provider's words stay in the log; the message can be sent again."""
    dialect.refuse(wire, status, SECRET)
    talk = thread(asking(dialect.model(wire)))
    run = await talk.say("x")
    assert run.outcome == STATUSES[status]
    assert "sk-123" not in json.dumps(run.events)
    dialect.say(wire, THOUGHT)
    assert (await talk.run()).text == "It is tea."


async def test_a_limit_says_how_long(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """`retry-after` reaches the client, in seconds."""
    dialect.refuse(wire, 429, SECRET, **{"retry-after": "7"})
    run = await thread(asking(dialect.model(wire))).say("x")
    assert (run.outcome, run.end["metadata"]["retryAfter"]) == ("LLM_RATE_LIMITED", 7.0)


async def test_a_limit_that_passes(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """The SDK waits as long as it is told and asks again: the run does not notice."""
    dialect.say(wire, THOUGHT)
    wire.first = [Answer(429, dialect.error(429, SECRET), {**dialect.headers(429), "retry-after": "0"})]
    run = await thread(asking(dialect.model(wire, max_retries=1))).say("x")
    assert (run.outcome, run.text, len(wire.asked)) == ("success", "It is tea.", 2)


@pytest.mark.parametrize("broken", [True, False])
async def test_a_stream_cut_in_the_middle(dialect: Dialect, broken: bool, wire: Wire, thread: NewThread) -> None:
    """The connection breaks, or somebody in between ends the body as if it were whole: half a text is closed, and is no answer."""
    frames = dialect.frames(HALF)
    said = next(i for i, frame in enumerate(frames) if " word" in _readable(frame))
    dialect.say(wire, HALF, cut_after=said)
    wire.cut = broken
    talk = thread(asking(dialect.model(wire)))
    run = await talk.say("x")
    assert (run.text, run.outcome) == ("half a", "UPSTREAM_UNREACHABLE")
    assert [message.type for message in await talk.stored()] == ["human"]


async def test_a_call_cut_in_the_middle(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """Its tool does not run, and the thread goes on."""
    frames = dialect.frames(CALLS)
    dialect.say(wire, CALLS, cut_after=1 + next(i for i, frame in enumerate(frames) if '{\\"q\\":' in _readable(frame)))
    talk = thread(react(dialect.model(wire).bind_tools([text]), text))
    run = await talk.say("x")
    assert (run.outcome, run.results) == ("UPSTREAM_UNREACHABLE", {})
    dialect.say(wire, THOUGHT)
    assert (await talk.run()).outcome == "success"


def _readable(frame: Any) -> str:
    if isinstance(frame, bytes):
        return frame.decode("utf-8", "replace")
    return frame if isinstance(frame, str) else json.dumps(frame)


IN_STREAM: dict[str, tuple[Any, str]] = {
    "openai": ({"error": {"message": SECRET, "type": "rate_limit_error", "code": "rate_limit_exceeded"}}, "LLM_RATE_LIMITED"),
    "deepseek": ({"error": {"message": SECRET, "type": "server_error", "code": "server_error"}}, "AGENT_INTERNAL"),
    "anthropic": (
        f"event: error\ndata: {json.dumps({'type': 'error', 'error': {'type': 'overloaded_error', 'message': SECRET}})}\n\n",
        "LLM_RATE_LIMITED",
    ),
    "bedrock": (aws_event("throttlingException", {"message": SECRET}, message="exception"), "LLM_RATE_LIMITED"),
}


async def test_an_error_in_the_stream(dialect: Dialect, wire: Wire, thread: NewThread) -> None:
    """Said under status 200, after half a text: it is closed, and the error is read by its kind."""
    error, code = IN_STREAM[dialect.name]
    frames = dialect.frames(HALF)
    said = next(i for i, frame in enumerate(frames) if " word" in _readable(frame))
    dialect.say(wire, HALF)
    wire.answer = [*frames[:said], error]
    run = await thread(asking(dialect.model(wire))).say("x")
    assert (run.text, run.outcome) == ("half a", code)
    assert "sk-123" not in json.dumps(run.events)
