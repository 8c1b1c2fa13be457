"""The scenarios: small graphs, and what a client does on a thread of theirs. `new(graph, …)` opens a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import RunControl
from langgraph.types import Send, interrupt

from functions.runs.connect import connect_events
from graphs.catalog import AGENTS, Deps
from graphs.models import ScriptedModel, make_model
from graphs.stream import write_agui_assistant_text, write_agui_event
from tests.scenarios import tushare, writing
from tests.scenarios.claude_stories import CLAUDE_STORIES
from tests.scenarios.telling import KeptThread
from tests.support.agent_thread import Json, Run, calling, cancelled, resolved, single
from tests.support.small_graphs import pieces, react, speaking, text

New = Callable[..., KeptThread]
WEATHER = {"name": "weather", "description": "The weather here.", "parameters": {"type": "object"}}


def questions(run: Run) -> list[str]:
    return [question["id"] for question in run.interrupts]


async def text_alone(new: New) -> None:
    """Two turns of plain text."""
    talk = new(speaking("Hello there.", "Bye."))
    await talk.say("hi")
    await talk.say("bye")


async def thinking(new: New) -> None:
    """Reasoning, text, and reasoning again."""
    await new(speaking(pieces(("reasoning", "Hm, ", 0), ("reasoning", "easy.", 0), ("text", "It is 4.", 1)))).say("2+2?")


async def tool_call(new: New) -> None:
    """A word first, then a call, its result, the answer."""
    await new(react(ScriptedModel(turns=[calling(("text", {"q": "cats"}), text="Let me look."), "Cats are fine."]), text)).say("cats?")


async def tool_error(new: New) -> None:
    """A tool that raises, and one that does not exist."""

    @tool
    def broken(q: str) -> str:
        """Raises."""
        raise ConnectionError("host db-7.internal")

    model = ScriptedModel(turns=[calling(("broken", {"q": "x"})), calling(("nothing", {}), ids=["c1"]), "I cannot."])
    await new(react(model, broken)).say("try")


async def repeated_call_ids(new: New) -> None:
    """A model that counts its calls from 0 in every turn."""
    model = ScriptedModel(turns=[calling(("text", {"q": "a"})), calling(("text", {"q": "b"})), "Done."])
    await new(react(model, text)).say("go")


def asking(payload: Any) -> StateGraph[Any, Any, Any, Any]:
    async def node(state: MessagesState) -> Json:
        answer = interrupt(payload)
        return {"messages": [AIMessage(f"You said {answer}.", id="m-answer")]}

    return single(node)


async def ask_and_resume(new: New) -> None:
    """A question, an answer for a question that is not open, the answer, and the same answer once more."""
    talk = new(asking({"type": "input", "message": "Your name?"}))
    (question,) = questions(await talk.say("go"))
    await talk.answer(resolved("nonsense", "x"))
    await talk.answer(resolved(question, "Ada"))
    await talk.answer(resolved(question, "Ada"))
    await talk.answer(resolved(question, "Bob"))


async def a_message_beside_a_question(new: New) -> None:
    """It is not taken for an answer, and stays on the screen."""
    talk = new(asking({"type": "input", "message": "Your name?"}))
    (question,) = questions(await talk.say("go"))
    await talk.say("what for?")
    await talk.answer(resolved(question, "Ada"))


def approving() -> StateGraph[Any, Any, Any, Any]:
    @tool
    async def delete(name: str) -> str:
        """Delete."""
        call = {"a": "c0", "b": "c1"}[name]
        answer = interrupt({"type": "approval", "message": f"Delete {name}?", "toolCallId": call})
        return f"deleted {name}" if answer["approved"] else f"{name} stays: {answer['reason']}"

    return react(ScriptedModel(turns=[calling(("delete", {"name": "a"}), ("delete", {"name": "b"})), "That is all."]), delete)


async def approval_cancelled(new: New) -> None:
    """Two approvals at once: one given, one cancelled, in one answer."""
    talk = new(approving())
    a, b = questions(await talk.say("delete both"))
    await talk.answer(resolved(a, {"approved": True}), cancelled(b))


async def parallel_asks(new: New) -> None:
    """Two questions at once, answered one after the other; the second keeps its id."""
    talk = new(approving())
    a, b = questions(await talk.say("delete both"))
    await talk.answer(resolved(b, {"approved": True}))
    await talk.answer(resolved(a, {"approved": True}))


async def nested_agent(new: New) -> None:
    """A graph in a graph that asks: suspended, then finished."""
    talk = new(single(single(asking({"type": "select", "message": "Which?"}).compile(name="inner")).compile(name="outer")))
    (question,) = questions(await talk.say("go"))
    await talk.answer(resolved(question, "this"))


async def two_at_once(new: New) -> None:
    """Two nested agents of one name in one step."""
    model = ScriptedModel(turns=["One.", "Two."])

    async def say(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke("x")]}

    graph = StateGraph(MessagesState)
    graph.add_node("fan", lambda _: {})
    graph.add_node("agent", single(say).compile())
    graph.add_edge(START, "fan")
    graph.add_conditional_edges("fan", lambda _: [Send("agent", {"messages": []}), Send("agent", {"messages": []})], ["agent"])
    await new(graph).say("go")


class Counting(MessagesState):
    count: int


async def native_events(new: New) -> None:
    """What a node writes itself: a note, a custom event, a text left open, an end without a start."""

    async def node(state: Counting) -> Json:
        write_agui_assistant_text("working…")
        write_agui_event({"type": "CUSTOM", "name": "progress", "value": 1})
        write_agui_event({"type": "TOOL_CALL_END", "toolCallId": "never-started"})
        write_agui_event({"type": "TEXT_MESSAGE_START", "messageId": "left-open", "role": "assistant"})
        return {"count": 1}

    await new(single(node, Counting), state_keys=("count",)).say("go", transient=["working…"])


async def native_end(new: New) -> None:
    """A node that ends the run itself."""

    async def node(state: MessagesState) -> Json:
        write_agui_event({"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "assistant"})
        write_agui_event({"type": "RUN_FINISHED", "threadId": "other", "runId": "other"})
        write_agui_assistant_text("too late")
        return {}

    await new(single(node)).say("go")


def half_a_word(*after: Any) -> list[Any]:
    return [AIMessageChunk(content=[{"type": "text", "text": "half a wor", "index": 0}]), *after]


async def error_in_a_word(new: New) -> None:
    """The model fails in the middle of a word; the same message again goes on from there."""
    talk = new(speaking(half_a_word(ConnectionError("host db-7.internal")), "A whole word."))
    await talk.say("go")
    await talk.run()


async def error_in_a_nested_agent(new: New) -> None:
    """Everything that is open ends, the sub-agent as failed."""
    await new(single(speaking(half_a_word(TimeoutError())).compile())).say("go")


async def _stopped(new: New, version: str | None) -> None:
    running, go, control = asyncio.Event(), asyncio.Event(), RunControl()

    async def first(state: MessagesState) -> Json:
        running.set()
        await go.wait()
        return {"messages": [AIMessage("First.", id="m1")]}

    graph = single(first)
    graph.add_node("second", lambda _: {"messages": [AIMessage("Second.", id="m2")]})
    graph.add_edge("node", "second")
    talk = new(graph, version=version, control=control)
    run = asyncio.create_task(talk.say("go"))
    await running.wait()
    control.request_drain("stop")
    go.set()
    await run
    talk.settings.pop("control")
    await talk.run()


async def stop(new: New) -> None:
    """Stopped at a step's end; an empty run goes on."""
    await _stopped(new, "1.0")


async def stop_for_an_older_client(new: New) -> None:
    """The same for a client that does not know `cancelled`."""
    await _stopped(new, None)


async def edit(new: New) -> None:
    """The first message again, changed: what came after is gone."""
    talk = new(speaking("One.", "Two.", "Three."))
    await talk.say("a")
    await talk.say("b")
    talk.messages = [{**talk.messages[0], "content": "edited"}]
    await talk.run()


async def regenerate(new: New) -> None:
    """The last message again, as it was."""
    talk = new(speaking("One.", "Another."))
    await talk.say("a")
    talk.messages = talk.messages[:1]
    await talk.run()


async def frontend_tool(new: New) -> None:
    """The client's own tool: the run ends with the call, the client's result starts the next one."""
    talk = new(speaking(calling(("weather", {"at": "home"})), "Sunny."))
    await talk.say("weather?", tools=[WEATHER])
    talk.messages = [*talk.messages, {"id": "t0", "role": "tool", "toolCallId": "c0", "content": "sun"}]
    await talk.run(tools=[WEATHER])


async def multimodal(new: New) -> None:
    """A picture in, and back in the snapshot."""
    picture = {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.png"}}
    await new(speaking("A cat.")).say([{"type": "text", "text": "what is it?"}, picture])


async def shared_state(new: New) -> None:
    """The client's state in, the graph's state out."""

    async def node(state: Counting) -> Json:
        return {"count": state.get("count", 0) + 1}

    talk = new(single(node, Counting), state_keys=("count",))
    await talk.say("go", state={"count": 4})


async def without_a_checkpointer(new: New) -> None:
    """The history comes with the input."""
    talk = new(speaking("One.", "Two."), compile={"checkpointer": None})
    await talk.say("a")
    await talk.say("b")


async def nothing_to_do(new: New) -> None:
    """An empty run on an empty thread."""
    await new(speaking("One.")).run()


async def connect(new: New) -> None:
    """A reload while a question is open."""
    talk = new(approving())
    await talk.say("delete both")
    talk.keep("connect", await connect_events(talk.compiled(), talk.id, None))


def knowing() -> StateGraph[Any, Any, Any, Any]:
    """kb with its offline model and the bundled documents."""
    spec = AGENTS["kb"]
    return spec.build(Deps(make_model("offline", script=spec.offline_script())))


def kb_thread(new: New) -> KeptThread:
    return new(knowing(), state_keys=("rewrittenQueries", "routeRejected", "citationRetries"))


async def kb_cited_answer(new: New) -> None:
    """A question, a follow-up that only its rewriting finds, and one that the knowledge base has nothing on."""
    talk = kb_thread(new)
    await talk.say("年假可以结转几天？")
    await talk.say("那病假呢？")
    await talk.say("Who won the football match?")


async def kb_rejected_draft(new: New) -> None:
    """A draft with a wrong quotation: the next one takes its place, under its id; then one that is never right, and an apology."""
    talk = kb_thread(new)
    await talk.say("引用错误：病假有几天全薪？", transient=["制度写着「可以休一百天」[1]。"])
    await talk.say("始终引用错误：病假有几天全薪？", transient=["制度写着「可以休一百天」[1]。"])


async def kb_failure(new: New) -> None:
    """The model breaks off in the answer; the question stays, and the next one is answered."""
    talk = kb_thread(new)
    await talk.say("出错：年假可以结转几天？")
    await talk.say("年假可以结转几天？")


SCENARIOS: Mapping[str, Callable[[New], Awaitable[None]]] = {
    story.__name__: story
    for story in (
        *CLAUDE_STORIES,
        text_alone,
        thinking,
        tool_call,
        tool_error,
        repeated_call_ids,
        ask_and_resume,
        a_message_beside_a_question,
        approval_cancelled,
        parallel_asks,
        nested_agent,
        two_at_once,
        native_events,
        native_end,
        error_in_a_word,
        error_in_a_nested_agent,
        stop,
        stop_for_an_older_client,
        edit,
        regenerate,
        frontend_tool,
        multimodal,
        shared_state,
        without_a_checkpointer,
        nothing_to_do,
        connect,
        *tushare.STORIES,
        kb_cited_answer,
        kb_rejected_draft,
        kb_failure,
        *writing.STORIES,
    )
}
