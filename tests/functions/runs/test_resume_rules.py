"""Resume and input, rule by rule: which test holds what, and the rules that no other file has.

History
    not sent again, only what is new is taken ....... test_turns: history_comes_from_the_checkpoint, several_new_messages
    an assistant message is not taken back in ....... test_turns: the_client_cannot_rewrite_what_the_agent_said
    an edit forks, also with the old history ........ test_turns: edit, edit_with_the_old_history_behind_it
    regenerate, retry ............................... test_turns: regenerate…, a_retry_of_a_run_that_is_done
    unfinished work goes on ......................... test_turns: unfinished_work_goes_on, a_new_message_leaves_unfinished_work
    nothing to do is refused ........................ test_turns: nothing_to_do
    frontend tools, their failures, made-up results . test_frontend; test_turns: made_up_results_are_not_taken
    lost results are failed results ................. test_turns: a_message_instead_of_a_frontend_result; test_tool_runs: a_raising_tool…
    multimodal parts, context, forwarded props ...... test_frontend
    unknown material is ignored ..................... tests/functions/web/test_run_input
    shared state .................................... test_state, test_state_deltas
Resume
    several at once, in part, cancelled in part ..... test_interrupts: several_questions_at_once, a_part_of_the_questions; here
    an unknown id, an id answered before ............ test_interrupts: an_unknown_id…, the_same_answer_twice, an_old_answer…; here (409)
    every JSON payload counts ....................... test_interrupts: any_json_is_an_answer, an_answer_without_payload_is_null
    cancelled is the kind's own refusal ............. test_interrupts: cancelled
    a schema's refusal, then a good answer .......... test_interrupts: an_answer_of_another_form
    expiry .......................................... test_interrupts: expiry
    a message while a question is open .............. test_interrupts: a_message_while…, a_message_beside_a_part…; here
    the same resume twice, also at once ............. test_interrupts: the_same_answer_twice; here
    the resumed run fails and is retried ............ here
    CopilotKit's habits ............................. test_interrupts: the_same_run_id_may_resume; here
    the legacy resume is none ....................... test_interrupts: the_legacy_resume_is_no_resume
    a graph that changed meanwhile .................. test_redeployed
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from ag_ui.core import EventType
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from functions.runs import stream_graph_agui_events
from functions.settings import Settings
from functions.web import create_app
from graphs.models import ScriptedModel
from tests.functions.runs.conftest import NewThread
from tests.functions.runs.test_interrupts import CANCELLED, Heard, ids, several
from tests.support.agent_thread import Json, calling, cancelled, resolved, single
from tests.support.small_graphs import react
from tests.support.sse import read_sse


class Booking:
    """A node that asks and then books. `failing` names the node that fails once: `ask`, after its answer, or `confirm`, a step later;
    `confirming` is how many seconds that step takes."""

    def __init__(self, failing: str = "", *, confirming: float = 0) -> None:
        self.booked: list[Any] = []
        self._confirming = confirming
        self._failing = failing

    def _fail_once(self, node: str) -> None:
        if self._failing == node:
            self._failing = ""
            raise TimeoutError

    def graph(self) -> StateGraph[Any, Any, Any, Any]:
        async def ask(state: MessagesState) -> Json:
            answer = interrupt("Which day?")
            self._fail_once("ask")
            await asyncio.sleep(0.01)
            self.booked.append(answer)
            return {"messages": [AIMessage(f"Booked: {answer}.", id="m1")]}

        async def confirm(state: MessagesState) -> Json:
            self._fail_once("confirm")
            await asyncio.sleep(self._confirming)
            return {"messages": [AIMessage("Confirmed.", id="m2")]}

        graph = StateGraph(MessagesState)
        graph.add_sequence([ask, confirm])
        graph.add_edge(START, "ask")
        return graph


HOW = pytest.mark.parametrize("how", ["the same answer", "an empty run"])


@HOW
@pytest.mark.parametrize("answer", [resolved("", "Monday"), resolved(""), cancelled("")])
async def test_it_fails_right_after_the_answer(answer: Json, how: str, thread: NewThread) -> None:
    """The question is answered and the work unfinished: it goes on with that answer, and another one is too late."""
    booking = Booking(failing="ask")
    talk = thread(booking.graph())
    (question,) = ids(await talk.say("go"))
    answer = {**answer, "interruptId": question}
    assert (await talk.answer(answer)).outcome == "UPSTREAM_TIMEOUT"
    assert (await talk.answer(resolved(question, "Tuesday"))).outcome == "ALREADY_ANSWERED"
    run = await (talk.answer(answer) if how == "the same answer" else talk.run())
    heard = CANCELLED if answer["status"] == "cancelled" else answer.get("payload")
    assert (run.outcome, run.text, booking.booked) == ("success", f"Booked: {heard}.Confirmed.", [heard])


@pytest.mark.parametrize("nested", [False, True])
@HOW
async def test_it_fails_between_two_questions(how: str, nested: bool, saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """The retry does not answer the second one, and another answer to the first is too late; in a nested graph too."""
    heard: list[Any] = []
    failures = [TimeoutError()]

    async def node(state: MessagesState) -> Json:
        first = interrupt("one?")
        if failures:
            raise failures.pop()
        heard.append((first, interrupt("two?")))
        return {}

    talk = thread(single(single(node).compile()) if nested else single(node), saver=saver)
    (one,) = ids(await talk.say("go"))
    assert (await talk.answer(resolved(one, 1))).outcome == "UPSTREAM_TIMEOUT"
    assert (await talk.answer(resolved(one, "another"))).outcome == "ALREADY_ANSWERED"
    asked = await (talk.answer(resolved(one, 1)) if how == "the same answer" else talk.run())
    (two,) = asked.interrupts
    assert (two["metadata"]["payload"], heard) == ("two?", [])
    assert (await talk.answer(resolved(two["id"], 2))).outcome == "success"
    assert heard == [(1, 2)]


@HOW
async def test_it_fails_a_step_later(how: str, thread: NewThread) -> None:
    """What was answered stays answered, what was done is done once; the rest goes on. Another answer is too late."""
    booking = Booking(failing="confirm")
    talk = thread(booking.graph())
    (question,) = ids(await talk.say("go"))
    assert (await talk.answer(resolved(question, "Monday"))).outcome == "UPSTREAM_TIMEOUT"
    assert (await talk.answer(resolved(question, "Tuesday"))).outcome == "ALREADY_ANSWERED"
    run = await (talk.answer(resolved(question, "Monday")) if how == "the same answer" else talk.run())
    assert (run.outcome, run.text, booking.booked) == ("success", "Confirmed.", ["Monday"])


async def test_nonsense_is_no_retry(thread: NewThread) -> None:
    """Only an answer that was given before starts the failed work again."""
    talk = thread(Booking(failing="confirm").graph())
    (question,) = ids(await talk.say("go"))
    await talk.answer(resolved(question, "Monday"))
    run = await talk.answer(resolved("nonsense", "Monday"))
    assert (run.ignored, run.text) == (["nonsense"], "")


async def test_twice_at_once(thread: NewThread) -> None:
    """Both are legal streams, one of them says that the other has the thread, and the node runs once."""
    booking = Booking()
    talk = thread(booking.graph())
    (question,) = ids(await talk.say("go"))
    runs = await asyncio.gather(*(talk.answer(resolved(question, "Monday")) for _ in range(2)))
    assert sorted(run.outcome for run in runs) == ["RUN_IN_PROGRESS", "success"]
    assert [m.text for m in await talk.stored()] == ["go", "Booked: Monday.", "Confirmed."]
    assert booking.booked == ["Monday"]


async def test_an_answer_again_whose_run_was_cut_off(thread: NewThread) -> None:
    """The worker died behind the accepted answer: the same answer again goes on from there, and what was done is not done again."""
    booking = Booking(confirming=0.5)
    talk = thread(booking.graph())
    (question,) = ids(await talk.say("go"))
    dying = stream_graph_agui_events(talk.input(resume=[resolved(question, "Monday")]), talk.compiled(), agent="test")
    async with aclosing(dying):
        async for event in dying:
            if event.type is EventType.STEP_FINISHED:
                break
    again = await talk.answer(resolved(question, "Monday"))
    assert (again.outcome, booking.booked) == ("success", ["Monday"])
    assert [m.text for m in await talk.stored()] == ["go", "Booked: Monday.", "Confirmed."]


async def test_cancelled_in_part(thread: NewThread) -> None:
    """One cancelled, one left open, then answered."""
    heard = Heard()
    talk = thread(several(heard, "a", "b"))
    a, b = ids(await talk.say("go"))
    part = await talk.answer(cancelled(a))
    assert (part.outcome, ids(part), heard.answers) == ("interrupt", [b], [("a", CANCELLED)])
    assert (await talk.answer(resolved(b, 2))).outcome == "success"
    assert heard.answers[1:] == [("b", 2)]


async def test_a_message_beside_the_whole_answer(thread: NewThread) -> None:
    """The answer runs; the message is not part of it, is kept on the screen, and is taken with the next run."""
    talk = thread(Booking().graph())
    (question,) = ids(await talk.say("go"))
    run = await talk.say("and a taxi", resume=[resolved(question, "Monday")])
    assert (run.outcome, [m["content"] for m in run.snapshot]) == ("success", ["go", "Booked: Monday.", "Confirmed.", "and a taxi"])
    assert "and a taxi" not in [m.text for m in await talk.stored()]
    await talk.run()
    assert [m.text for m in await talk.stored()][3] == "and a taxi"


async def test_copilotkits_habits(thread: NewThread) -> None:
    """It sends the interrupted run's id again, and a tool message that it made of the answer: the tool's own result counts, once."""

    @tool
    async def book(day: str) -> str:
        """Book."""
        return f"booked {day} for {interrupt('Who?')}"

    model = ScriptedModel(turns=[calling(("book", {"day": "Monday"})), "done"])
    talk = thread(react(model, book))
    (question,) = ids(await talk.say("go", run_id="same"))
    talk.messages = [*talk.messages, {"id": "made-up", "role": "tool", "toolCallId": "c0", "content": "Ada"}]
    run = await talk.answer(resolved(question, "Ada"), run_id="same")
    assert (run.outcome, run.results) == ("success", {"c0": "booked Monday for Ada"})
    assert [m.text for m in await talk.stored() if m.type == "tool"] == ["booked Monday for Ada"]
    assert [m["id"] for m in run.snapshot if m["role"] == "tool"] != ["made-up"]


async def test_the_status_of_another_answer() -> None:
    """Over HTTP it is a 409 before any stream."""
    app = create_app("booking", Settings(auth="none"), graph=Booking().graph().compile(checkpointer=InMemorySaver()))
    body: Json = {"threadId": "t", "messages": [{"id": "u", "role": "user", "content": "go"}], "state": {}, "tools": [], "context": []}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://url") as client:
        asked = read_sse((await client.post("/", json={**body, "runId": "r1"})).content)[-1]
        (question,) = asked["outcome"]["interrupts"]
        for number, (payload, status) in enumerate([("Monday", 200), ("Monday", 200), ("Tuesday", 409)]):
            sent = {**body, "runId": f"a{number}", "resume": [resolved(question["id"], payload)]}
            answer = await client.post("/", json=sent)
            assert answer.status_code == status
    assert answer.json()["error"]["code"] == "ALREADY_ANSWERED"
