"""The offline model of the writing agents: each of their calls, known by its system prompt, answered by rule.

| call | answer |
|---|---|
| rewrite of a document, of a selection | a thought, then the text by `graphs.writing.offline_rules` |
| summaries | JSON, a note for each change: which rule made it |
| intent | JSON: `write` for a request (`帮我`, `请把`, `make it` …), else `ask` |
| talk | how long the document is, and what in it a rewrite would mend; without one, what to try |

A request with `fail now` or `出错` fails in the middle of a word, as the common rules have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice

from langchain_core.messages import AIMessage, AIMessageChunk

from graphs.offline import Conversation, thoughtful
from graphs.scripted import Turn, chunks_of
from graphs.writing import prompts
from graphs.writing.json_text import extract_json
from graphs.writing.offline_rules import findings, note_for, rewrite

_DOCUMENT = re.compile(r"<document>\n(.*)\n</document>", re.DOTALL)
_REQUEST = re.compile(r"<request>\n(.*?)\n</request>", re.DOTALL)
_INSTRUCTION = re.compile(r"## 改写要求\n(.*?)(?:\n\n|\Z)", re.DOTALL)
_PIECES = 40
"""Of a long text: a pause after every word of a document would take minutes."""
_SHOWN_FINDINGS = 6
_NO_DOCUMENT = "我是离线模型，目前没有打开的文稿。在编辑器里写一段文字，再问我哪里可以改进，或让我润色全文。"


def script(talk: Conversation, tools: Sequence[str]) -> Turn | None:
    """The answer to one of this module's calls, or None."""
    if _told_to_fail(talk):
        return None
    if talk.system.startswith(prompts.EDIT_HEAD):
        return _edited(talk)
    if talk.system == prompts.SUMMARIES_PROMPT:
        return _in_pieces(_summaries(talk))
    if talk.system == prompts.INTENT_PROMPT:
        wants = talk.says(r"帮我|请把|请将|给我写|\bmake it\b|\bmake this\b|\bfix\b")
        return _in_pieces(json.dumps({"intent": "write" if wants else "ask"}))
    return _talk(talk) if talk.system.startswith(prompts.CHAT_HEAD) else None


def _told_to_fail(talk: Conversation) -> bool:
    """By the request: the words may well be part of a document."""
    said = " ".join(found[1] for found in _REQUEST.finditer(talk.text)) if _DOCUMENT.search(talk.text) else talk.text
    return re.search(r"\bfail now\b|出错", said, re.IGNORECASE) is not None and talk.system != prompts.SUMMARIES_PROMPT


def _edited(talk: Conversation) -> Turn:
    document, instruction = _DOCUMENT.search(talk.text), _INSTRUCTION.search(talk.system)
    request = _REQUEST.search(talk.text)
    wish = " ".join(found[1] for found in (request, instruction) if found)
    text = document[1] if document else talk.text
    count = len(list(findings(text)))
    scope, lines = "全文" if document else "选中的文字", text.count("\n") + 1
    thought = f"先通读{scope}：{lines} 行，发现 {count} 处可以改进。逐行改写，其余保持原样。"
    return [*chunks_of(AIMessage([{"type": "reasoning", "reasoning": thought}])), *_in_pieces(rewrite(text, wish), index=1)]


def _summaries(talk: Conversation) -> str:
    changes = extract_json(talk.text) or []
    return json.dumps({"summaries": [note_for(change["originalText"], change["newText"]) for change in changes]}, ensure_ascii=False)


def _talk(talk: Conversation) -> Turn:
    document = _DOCUMENT.search(talk.system)
    if document is None:
        return thoughtful("没有文稿，说明能做什么。", _NO_DOCUMENT)
    text = document[1]
    found = [f"- 第 {number} 行：{note}" for number, note in islice(findings(text), _SHOWN_FINDINGS)]
    advice = "\n".join(found) if found else "- 没有发现明显的问题。"
    lines = sum(1 for line in text.split("\n") if line.strip())
    answer = f"我是离线模型，按规则检查了文稿（{lines} 行，{len(text)} 字）。建议：\n\n{advice}\n\n需要改写时，请说“润色全文”。"
    return thoughtful("逐行对照规则，列出可以改进的地方。", answer)


def _in_pieces(text: str, index: int = 0) -> list[AIMessageChunk | BaseException]:
    size = max(len(text) // _PIECES, 8)
    return [AIMessageChunk(content=[{"type": "text", "text": text[at : at + size], "index": index}]) for at in range(0, len(text), size)]
