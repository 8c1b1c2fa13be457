"""Tool nodes: routing, replacing, and the node whose tools arrive later."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.types import Send

from graphs.tools import LazyToolNode, call_key, load_once, replace_tools, route_tools
from tests.support.conversation import Conversation


@tool
async def shout(text: str) -> str:
    """Upper case."""
    return text.upper()


@tool
async def whisper(text: str) -> str:
    """Lower case."""
    return text.lower()


def calling(*texts: str, name: str = "shout") -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": name, "args": {"text": text}, "id": f"c{i}", "type": "tool_call"} for i, text in enumerate(texts)]
    )


@pytest.mark.parametrize("messages", [[], [HumanMessage("hi")], [AIMessage("hi")], [calling("a"), HumanMessage("hi")]])
def test_without_tool_calls_at_the_end_the_loop_is_over(messages: list[BaseMessage]) -> None:
    """Only the last message counts, and only if it is the model's."""
    assert route_tools("tools")({"messages": messages}) == END


def test_each_call_is_a_task_of_its_own() -> None:
    """One Send for each call, in order."""
    sends = route_tools("tools")({"messages": [calling("a", "b")]})
    assert [isinstance(send, Send) and send.arg[0]["args"]["text"] for send in sends] == ["a", "b"]


async def test_a_call_has_a_key_of_its_own() -> None:
    """The same when a call is run again because its result was not stored; another for the call beside it, for the same call id in a later
    turn, and for another thread."""
    keys: list[tuple[str | None, str]] = []
    failures = [ConnectionError()]

    @tool
    async def pay(text: str, runtime: ToolRuntime) -> str:
        """Pays, and loses its result once."""
        keys.append((runtime.tool_call_id, call_key(runtime)))
        if text == "a" and failures:
            raise failures.pop()
        return "paid"

    async def model(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [calling("a", "b", name="pay")]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([pay], handle_tool_errors=False))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", route_tools("tools"), ["tools", END])
    graph = builder.compile(checkpointer=InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        await graph.ainvoke({"messages": [HumanMessage("go")]}, thread)
    await graph.ainvoke(None, thread)
    again = [key for call, key in keys if call == "c0"]
    assert (len(again), len(set(again))) == (2, 1)
    await graph.ainvoke({"messages": [HumanMessage("go")]}, thread)
    await graph.ainvoke({"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "other"}})
    assert len({key for _, key in keys}) == 6


def test_given_tools_replace_and_add() -> None:
    """By name; the order of the agent's own stays."""

    @tool("shout")
    async def other(text: str) -> str:
        """Another."""
        return text

    assert replace_tools([shout, whisper], None) == [shout, whisper]
    assert replace_tools([shout, whisper], [other]) == [other, whisper]
    assert replace_tools([shout], [whisper]) == [shout, whisper]


class Loader:
    """Fails as often as told, then gives the tools; counts."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.loads = failures, 0

    async def __call__(self) -> Sequence[BaseTool]:
        self.loads += 1
        await asyncio.sleep(0)
        if self.loads <= self.failures:
            raise ConnectionError("mcp.internal refused")
        return [shout]


def lazy(loader: Loader, message: AIMessage) -> Conversation:
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [message.model_copy()]})
    graph.add_node("tools", LazyToolNode(loader))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route_tools("tools"), ["tools", END])
    return Conversation(graph)


async def test_a_lazy_node_loads_once_and_announces_each_call_once() -> None:
    """Two calls at once, then another turn: one load; it is itself the node, so each call starts once."""
    loader = Loader()
    talk = lazy(loader, calling("a", "b"))
    await talk.say("hi")
    assert [message.text for message in await talk.messages()][2:] == ["A", "B"]
    await talk.say("again")
    assert loader.loads == 1
    assert [data["tool_call_id"] for method, data in talk.events if method == "tools" and data["event"] == "tool-started"] == [
        "c0",
        "c1",
    ] * 2


async def test_a_failed_load_is_told_and_forgotten() -> None:
    """The call gets an error without the server's name; the next one loads."""
    talk = lazy(Loader(failures=1), calling("a"))
    await talk.say("hi")
    assert (await talk.messages())[-1].text == "Error: the tool failed (ConnectionError)."
    await talk.say("again")
    assert (await talk.messages())[-1].text == "A"


async def test_who_asks_meanwhile_shares_the_load_and_its_failure() -> None:
    """One load for all of them, also where it fails; it is forgotten then, and the next who asks loads again."""
    loader = Loader(failures=1)
    load = load_once(loader)
    failed = await asyncio.gather(*(load() for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in failed] == [ConnectionError] * 3
    assert loader.loads == 1
    assert [*await asyncio.gather(load(), load()), await load()] == [[shout]] * 3
    assert loader.loads == 2


async def test_a_run_that_is_cancelled_does_not_end_the_load_of_others() -> None:
    """Whoever began it."""
    begun, gate = [], asyncio.Event()

    async def gated() -> Sequence[BaseTool]:
        begun.append(gate)
        await gate.wait()
        return [shout]

    load = load_once(gated)
    first, second = asyncio.ensure_future(load()), asyncio.ensure_future(load())
    await asyncio.wait({first, second}, timeout=0.01)
    first.cancel()
    await asyncio.wait({first})
    gate.set()
    assert (await second, first.cancelled(), len(begun)) == ([shout], True, 1)


def test_a_load_that_ended_with_its_loop_is_forgotten() -> None:
    """The next loop loads anew; what it has loaded is there in every later one."""
    begun: list[float] = []

    async def slow_at_first() -> Sequence[BaseTool]:
        begun.append(0 if begun else 60)
        await asyncio.sleep(begun[-1])
        return [shout]

    load = load_once(slow_at_first)

    async def leave() -> None:
        waiting = asyncio.ensure_future(load())
        await asyncio.wait({waiting}, timeout=0.01)

    asyncio.run(leave())
    assert [asyncio.run(load()) for _ in range(2)] == [[shout], [shout]]  # type: ignore[arg-type]  # a coroutine, though an `Awaitable`
    assert len(begun) == 2


async def test_an_unknown_tool_of_a_lazy_node_is_a_result() -> None:
    """As with any ToolNode."""
    talk = lazy(Loader(), calling("a", name="nope"))
    await talk.say("hi")
    assert "nope is not a valid tool" in (await talk.messages())[-1].text


async def test_its_tools_can_be_bound_to_a_model() -> None:
    """`tools()` is what the agent node binds; it shares the load."""
    loader = Loader()
    node = LazyToolNode(loader)
    assert await node.tools() == [shout]
    assert await node.tools() == [shout]
    assert loader.loads == 1
