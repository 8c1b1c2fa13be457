"""The node that rewrites: a selection, streamed, or a whole document, as changes for the client to accept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from graphs.completion import Completion, Prompt
from graphs.messages import DeltaMessagesState, last_request, with_system
from graphs.models import at_temperature
from graphs.writing.hunks import Hunk, compute_hunks
from graphs.writing.options import wish_of
from graphs.writing.original_form import in_form_of
from graphs.writing.prompts import document_request, edit_prompt
from graphs.writing.schemas import CHANGE_SUMMARIES_EVENT, WriterChangeSummaries, WriterChangeSummary
from graphs.writing.summaries import summarize

WORKING = "编写中…"
NO_SELECTION = "没有要改写的内容。请选中一段文字，或把它作为消息发送。"
NO_DOCUMENT = "没有要改写的文稿。请先写好或打开一篇文稿，再提出要求。"
NO_RESULT = "这次没有得到改写结果，文稿未变。请再试一次。"
NO_CHANGE = "已检查全文，没有需要修改的地方。"

TEMPERATURE = 0.3
EARLIER_MESSAGES = 6
EARLIER_CHARS = 2_000


class EditNode(Protocol):
    """LangGraph passes the parameters by these names."""

    async def __call__(self, state: DeltaMessagesState, config: RunnableConfig) -> dict[str, list[BaseMessage]]: ...


def write_edit(model: BaseChatModel, complete: Completion) -> EditNode:
    """The node `writeEdit`. Configurable: `editCase`, `documentBaseline`, `polishInstruction`, `focuses`."""
    tempered = at_temperature(model, TEMPERATURE)

    async def node(state: DeltaMessagesState, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        messages, options = state["messages"], config.get("configurable", {})
        if options.get("editCase") == "inline":
            return {"messages": [await _inline(tempered, messages, options, config)]}
        return {"messages": [AIMessage(await _document(complete, messages, options))]}

    return node


async def _inline(model: BaseChatModel, messages: Sequence[BaseMessage], options: Mapping[str, Any], config: RunnableConfig) -> BaseMessage:
    """The replacement streams as the model's own message. Earlier selections of the thread are no part of the question."""
    if not (selection := last_request(messages)):
        return AIMessage(NO_SELECTION)
    return await model.ainvoke(with_system(edit_prompt("inline", wish_of(options)), [HumanMessage(selection)]), config)


async def _document(complete: Completion, messages: Sequence[BaseMessage], options: Mapping[str, Any]) -> str:
    """Writes the changes on the stream; the closing note."""
    from graphs.stream.writer import write_agui_assistant_text  # it brings the AG-UI types, which to build the graph needs not

    baseline = options.get("documentBaseline", "")
    if not baseline.strip():
        return NO_DOCUMENT
    write_agui_assistant_text(WORKING)
    asked = document_request(baseline.strip(), last_request(messages), _earlier(messages))
    prompt = Prompt(edit_prompt("document", wish_of(options)), asked, TEMPERATURE, "streamReasoning")
    answer = await complete(prompt)
    # both in threads: a document of many lines takes seconds, in which the run must go on to show that it lives
    polished = await asyncio.to_thread(in_form_of, baseline, answer)
    if not polished:
        return NO_RESULT
    hunks = await asyncio.to_thread(compute_hunks, baseline, polished)
    _write_changes(baseline, polished, hunks, await summarize(hunks, complete))
    return f"已给出 {len(hunks)} 处修改建议，请逐条确认。" if hunks else NO_CHANGE


def _write_changes(baseline: str, polished: str, hunks: Sequence[Hunk], summaries: Sequence[str]) -> None:
    changes = [
        WriterChangeSummary(hint_from=hunk.from_, original_text=hunk.original_text, new_text=hunk.new_text, summary=note)
        for hunk, note in zip(hunks, summaries, strict=True)
    ]
    value = WriterChangeSummaries(changes=changes, polished=polished, baseline=baseline)
    get_stream_writer()({"name": CHANGE_SUMMARIES_EVENT, "payload": value.model_dump(by_alias=True)})


def _earlier(messages: Sequence[BaseMessage]) -> str:
    """The talk before the last request, shortened: a rewrite may be asked for by "as you just said"."""
    said = [m for m in messages if isinstance(m, HumanMessage | AIMessage) and m.text.strip()]
    asked = max((i for i, m in enumerate(said) if isinstance(m, HumanMessage)), default=0)
    return "\n".join(_line_of(m) for m in said[max(asked - EARLIER_MESSAGES, 0) : asked])


def _line_of(message: BaseMessage) -> str:
    return f"{'用户' if isinstance(message, HumanMessage) else '助手'}：{message.text.strip()[:EARLIER_CHARS]}"
