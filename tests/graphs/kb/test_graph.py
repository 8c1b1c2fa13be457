"""kb with a scripted model: routes, retries, what is asked of the model, and what is stored."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, SystemMessage

from graphs.catalog import AGENTS, Deps
from graphs.kb.retrieval import MIN_SCORE, best_hits
from graphs.knowledge import Chunk, Document, Hit, Knowledge, KnowledgeUnavailable
from graphs.models import ScriptedModel, make_model
from tests.support.conversation import Conversation

KNOWLEDGE = Knowledge(
    [
        Document(
            "hr", "leave", "# Leave\n\n## Annual\n\nEverybody has 15 days of annual leave.\n\n## Sick\n\nA doctor's note from day three."
        ),
        Document("it", "vpn", "# VPN\n\nThe annual certificate of the tunnel is renewed in May."),
    ]
)
ANNUAL = "[Leave › Annual](/kb?doc=leave&chunk=0)"
QUESTION = "How many days of annual leave?"


def kb(*turns: Any, knowledge: Any = KNOWLEDGE, **configurable: Any) -> tuple[Conversation, ScriptedModel]:
    model = ScriptedModel(turns=list(turns))
    return Conversation(AGENTS["kb"].build(Deps(model, knowledge)), **configurable), model


async def texts(talk: Conversation) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in await talk.messages()]


def streamed(talk: Conversation) -> str:
    """All text that went out token by token."""
    deltas = [data["delta"] for method, data in talk.events if method == "messages" and isinstance(data, dict) and "delta" in data]
    return "".join(delta.get("text", "") for delta in deltas)


async def test_an_answer_is_stored_with_links() -> None:
    """Rewritten, retrieved, answered; the rewriting does not stream, the draft does, and the stored answer has its id."""
    talk, model = kb("annual leave days", "15 days [1].")
    await talk.say(QUESTION)
    assert await texts(talk) == [("human", QUESTION), ("ai", f"15 days {ANNUAL}.")]
    assert streamed(talk) == "15 days [1]."
    state = await talk.state()
    assert state["rewrittenQueries"] == [QUESTION, "annual leave days"]
    assert (state["retrievedChunks"][0]["docId"], state["retrievedChunks"][0]["chunkId"]) == ("leave", "0")
    assert (state["routeRejected"], state["citationRetries"], state["correction"]) == (False, 0, "")
    asked = model.calls[1]
    assert isinstance(asked[0], SystemMessage)
    assert f"[1] {ANNUAL}\nEverybody has 15 days of annual leave." in asked[0].text
    assert [message.type for message in asked] == ["system", "human"]


async def test_a_wrong_draft_is_written_anew_in_silence() -> None:
    """The correction goes into the next prompt alone; question and first draft's id stay; neither draft nor correction is stored."""
    talk, model = kb("", "“99 days” [1]", "Again wrong [7].", "“15 days of annual leave” [1]")
    await talk.say(QUESTION)
    assert await texts(talk) == [("human", QUESTION), ("ai", f"“15 days of annual leave” {ANNUAL}")]
    assert streamed(talk) == "“99 days” [1]"
    state = await talk.state()
    assert (state["citationRetries"], state["correction"]) == (2, "")
    assert "99 days" in model.calls[2][0].text
    assert "[7]" in model.calls[3][0].text
    assert "99 days" not in model.calls[3][0].text
    for call in model.calls[1:]:
        assert [message.text for message in call[1:]] == [QUESTION]
    ids = [
        data["id"]
        for method, data in talk.events
        if method == "messages" and isinstance(data, dict) and data.get("event") == "message-start"
    ]
    assert (await talk.messages())[-1].id in ids


@pytest.mark.parametrize(("again", "answer"), [("15 [1]", f"15 {ANNUAL}"), (ConnectionError("no route"), "Sorry")])
async def test_a_model_that_fails_after_a_rejected_draft(again: Any, answer: str) -> None:
    """The draft does not stay on the screen: a failure is one more attempt, the correction is told again, the last one is an apology."""
    talk, model = kb("", "“99 days” [1]", ConnectionError("no route"), again)
    await talk.say(QUESTION)
    (_, said) = (await texts(talk))[-1]
    assert said.startswith(answer)
    assert "99 days" in model.calls[3][0].text


async def test_a_model_that_fails_at_once_ends_the_run() -> None:
    """There is nothing to take back."""
    talk, _ = kb("", ConnectionError("no route"))
    with pytest.raises(ConnectionError):
        await talk.say(QUESTION)


async def test_three_wrong_drafts_are_an_apology() -> None:
    """In the language of the question; the next turn begins anew."""
    talk, model = kb("", *["so [9]"] * 3, "", "15 [1]")
    await talk.say("年假 annual leave 有几天？")
    (_, apology) = (await texts(talk))[-1]
    assert apology.startswith("抱歉")
    await talk.say(QUESTION)
    assert (await texts(talk))[-1] == ("ai", f"15 {ANNUAL}")
    assert (await talk.state())["citationRetries"] == 0
    assert "[9]" not in model.calls[-1][0].text


@pytest.mark.parametrize(
    ("question", "says", "model_calls"),
    [
        ("zebra crossing", "Nothing about this was found", 1),
        ("斑马", "没有在知识库中找到", 1),
        ("Who wrote the annual novel about whales, tigers and lions?", "outside of the knowledge base", 1),
        ("certificate whales tigers", "more specific", 1),
    ],
)
async def test_routes_without_an_answer(question: str, says: str, model_calls: int) -> None:
    """Nothing found, nothing near, something near: a message, and the model is not asked for an answer."""
    talk, model = kb("", "must not be said")
    await talk.say(question)
    (_, said) = (await texts(talk))[-1]
    assert says in said
    state = await talk.state()
    assert (state["routeRejected"], state["retrievedChunks"]) == (True, [])
    assert len(model.calls) == model_calls


async def test_to_clarify_names_what_comes_near() -> None:
    """As links that can be opened."""
    talk, _ = kb("")
    await talk.say("certificate whales tigers")
    assert "[VPN](/kb?doc=vpn&chunk=0)" in (await texts(talk))[-1][1]


async def test_the_rewritten_question_is_searched_when_the_own_words_are_not_enough() -> None:
    """A follow-up; the next question begins without what the last one left."""
    talk, _ = kb("", "15 [1]", "note from a doctor when sick", "Day three [1].", "", "")
    await talk.say(QUESTION)
    await talk.say("And the other kind?")
    assert (await texts(talk))[-1] == ("ai", "Day three [Leave › Sick](/kb?doc=leave&chunk=1).")
    await talk.say("zebra?")
    assert (await talk.state())["rewrittenQueries"] == ["zebra?"]


@pytest.mark.parametrize("rewriting", [ConnectionError("no route"), "", "- \n\n", QUESTION])
async def test_a_failed_rewriting_leaves_the_question(rewriting: Any) -> None:
    """An error of the model, nothing, the same: the question itself is searched for."""
    talk, _ = kb(rewriting, "15 [1]")
    await talk.say(QUESTION)
    assert (await talk.state())["rewrittenQueries"] == [QUESTION]
    assert (await texts(talk))[-1] == ("ai", f"15 {ANNUAL}")


async def test_at_most_two_queries() -> None:
    """The question and the first rewriting, without list marks and quotation marks."""
    talk, _ = kb('1. "annual leave days"\n2. more\n3. even more', "15 [1]")
    await talk.say(QUESTION)
    assert (await talk.state())["rewrittenQueries"] == [QUESTION, "annual leave days"]


async def test_no_words_find_nothing() -> None:
    """A picture alone: no query, no model call, a message."""
    talk, model = kb()
    await talk.run({"messages": [("user", [{"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}])]})
    assert (await talk.state())["rewrittenQueries"] == []
    assert (await texts(talk))[-1][1].startswith("没有在知识库中找到")
    assert model.calls == []


async def test_the_base_comes_from_the_configuration() -> None:
    """Another base's documents are neither found nor cited."""
    talk, _ = kb("", "May [1].", kbId="it")
    await talk.say("When is the annual certificate renewed?")
    assert {source["kbId"] for source in (await talk.state())["retrievedChunks"]} == {"it"}


async def test_a_history_with_its_own_system_prompt_keeps_it() -> None:
    """The chunks are told beside it: without them there is nothing to answer from."""
    talk, model = kb("", "15 [1]")
    await talk.run({"messages": [("system", "Be brief."), ("user", QUESTION)]})
    assert model.calls[1][0].text.startswith("Be brief.")
    assert ANNUAL in model.calls[1][0].text
    assert [message.type for message in model.calls[1]] == ["system", "human"]


async def test_thinking_stays_with_the_answer() -> None:
    """A reasoning block of an accepted first draft is stored; one of a silent draft was never seen."""
    thought = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "15 [1]"}])
    wrong = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "15 [9]"}])
    kept, _ = kb("", thought)
    await kept.say(QUESTION)
    assert [block["type"] for block in (await kept.messages())[-1].content_blocks] == ["reasoning", "text"]
    silent, _ = kb("", wrong, thought)
    await silent.say(QUESTION)
    assert [block["type"] for block in (await silent.messages())[-1].content_blocks] == ["text"]


async def test_a_knowledge_base_that_cannot_be_reached_ends_the_run() -> None:
    """Instead of an answer without it."""

    class Down:
        async def current(self, kb_id: str | None) -> Knowledge:
            raise KnowledgeUnavailable("no route")

    talk, _ = kb("", knowledge=Down())
    with pytest.raises(KnowledgeUnavailable):
        await talk.say(QUESTION)


async def test_recall_is_doubled_before_giving_up() -> None:
    """All queries with the usual recall, then again with twice as much; the first that is good enough ends it."""
    asked: list[tuple[str, int]] = []

    class Wide(Knowledge):
        async def retrieve(self, query: str, kb_id: str | None = None, *, recall: int = 20, limit: int = 5) -> list[Hit]:
            asked.append((query, recall))
            return [Hit(Chunk("kb", "d", "0", (), "x"), MIN_SCORE if (query, recall) == ("b", 40) else 0.1)]

    assert (await best_hits(Wide(), ["a", "b", "c"], None))[0].score == MIN_SCORE
    assert asked == [("a", 20), ("b", 20), ("c", 20), ("a", 40), ("b", 40)]


async def test_the_offline_model_shows_the_whole_way() -> None:
    """Quotes with a number, in the question's language; misquotes when asked to, and puts it right, or not."""
    spec = AGENTS["kb"]
    talk = Conversation(spec.build(Deps(make_model("offline", script=spec.offline_script()))))
    for question, answer in (
        ("病假有几天全薪？", "「病假每年有 10 天全薪。」[请假制度（示例） › 病假](/kb?doc=leave-policy-zh&chunk=3)"),
        (
            "How many days of sick leave are there?",
            "“There are 10 days of sick leave at full pay a year.” [Leave policy (sample) › Sick leave]",
        ),
        ("cite wrong: days of sick leave at full pay", "“There are 10 days of sick leave at full pay a year.” ["),
        ("never cite right: days of sick leave at full pay", "Sorry"),
        ("hello", "Nothing about this"),
    ):
        await talk.say(question)
        assert answer in (await texts(talk))[-1][1]


def test_it_needs_a_model() -> None:
    """And says so."""
    with pytest.raises(ValueError, match="needs a chat model"):
        AGENTS["kb"].build(Deps(None))


@pytest.mark.parametrize(
    ("state", "configurable"),
    [({}, {}), ({"kbId": " a "}, {"kbId": "a"}), ({"kbId": "k" * 200}, {"kbId": "k" * 128}), ({"kbId": 5}, {}), ({"kbId": "  "}, {})],
)
def test_options(state: dict[str, Any], configurable: dict[str, str]) -> None:
    """kbId from the client's state alone, cleaned as reactAgent's."""
    assert AGENTS["kb"].read_options(state, {"kbId": "x", "reactAgent": {"kbId": "y"}}).configurable == configurable
