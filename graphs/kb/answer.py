"""generate: an answer whose citations hold. A draft that is rejected is written anew, and never said twice."""

from __future__ import annotations

import logging
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from graphs.kb import prompts
from graphs.kb.retrieval import Node
from graphs.kb.state import Cited, KbState, cited
from graphs.knowledge.citations import problems_of, with_links
from graphs.messages import last_request
from graphs.models import at_temperature

TEMPERATURE = 0.2
MOST_RETRIES = 2
HISTORY = 20
"""Messages that an answer sees."""

_log = logging.getLogger(__name__)


def generating(model: BaseChatModel) -> Node:
    """The first draft streams. One whose citations are wrong is followed by up to two silent ones, each told what was wrong; the accepted
    one, or an apology, is stored under the first one's id and so takes its place on the screen."""
    speaking = at_temperature(model, TEMPERATURE)
    silent = speaking.with_config(tags=[TAG_NOSTREAM])

    async def generate(state: KbState, config: RunnableConfig) -> dict[str, Any]:
        retries, correction = state["citationRetries"], state["correction"]
        chunks = cited(state["retrievedChunks"])
        messages = _history(prompts.answer_prompt(state["retrievedChunks"], correction), state["messages"])
        said = await _said_again(silent, messages, config) if retries else await speaking.ainvoke(messages, config)
        draft = state["draftId"] or (said.id if said else None) or ""
        problems = problems_of(said.text, chunks) if said else []
        if said and not problems:
            return _stored(_linked(said, chunks, streamed=not retries), draft)
        if retries < MOST_RETRIES:
            told = "\n".join(f"- {problem}" for problem in problems) or correction
            return {"citationRetries": retries + 1, "correction": told, "draftId": draft}
        return _stored(AIMessage(prompts.apology(last_request(state["messages"]))), draft)

    return generate


async def _said_again(silent: Runnable[Any, AIMessage], messages: list[BaseMessage], config: RunnableConfig) -> AIMessage | None:
    """None where the model fails: a run that ended here would leave the rejected draft on the screen, so it counts as one more of them."""
    try:
        return await silent.ainvoke(messages, config)
    except Exception:  # noqa: BLE001 - whatever the provider raises: after the last attempt the apology says that there is no answer
        _log.warning("the answer was not written anew", exc_info=True)
        return None


def wants_retry(state: KbState) -> bool:
    """The last step left a correction."""
    return bool(state["correction"])


def _stored(message: AIMessage, message_id: str) -> dict[str, Any]:
    return {"messages": [message.model_copy(update={"id": message_id or None})], "correction": ""}


def _linked(said: AIMessage, chunks: list[Cited], *, streamed: bool) -> AIMessage:
    """With links for numbers. What a silent draft thought is left out: nobody saw it being thought."""
    text = with_links(said.text, chunks)
    if isinstance(said.content, str) or not streamed:
        return said.model_copy(update={"content": text})
    others = [block for block in said.content if isinstance(block, dict) and block.get("type") != "text"]
    return said.model_copy(update={"content": [*others, {"type": "text", "text": text}]})


def _history(prompt: str, messages: list[AnyMessage]) -> list[BaseMessage]:
    """The last messages behind the prompt. A history that starts with a system prompt keeps it: the chunks are told beside it."""
    own = [messages[0].text] if messages and isinstance(messages[0], SystemMessage) else []
    return [SystemMessage("\n\n---\n\n".join([*own, prompt])), *(m for m in messages[-HISTORY:] if not isinstance(m, SystemMessage))]
