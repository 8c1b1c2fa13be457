"""Does the user want an answer or an edit: forced by the client, told by a word, or asked of the model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast, get_args

from graphs.completion import Completion, Prompt
from graphs.writing.json_text import extract_json
from graphs.writing.prompts import INTENT_PROMPT
from graphs.writing.schemas import EditorChatIntent

_WRITE = re.compile(
    r"润色|改写|重写|扩写|扩展|缩写|缩短|精简|简化|续写|接着写|继续写|改成|改为|换成|翻译成|译成"
    r"|\b(?:polish|rewrite|rephrase|expand|shorten|condense|continue)\b|\bchange\b.{1,60}?\b(?:to|into)\b",
    re.IGNORECASE | re.DOTALL,
)
_ASK = re.compile(
    r"什么意思|含义|为什么|为何|优缺点|利弊|解释|怎么看|如何理解|什么是|是什么"
    r"|\b(?:mean(?:s|ing)?|why|pros and cons|explain)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"```.*?(?:```|\Z)|「[^」]*」|『[^』]*』|“[^”]*”|\"[^\"\n]*\"|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE)


async def classify_intent(text: str, force: str | None, complete: Completion) -> EditorChatIntent:
    """`force`, if it is an intent; no text → ask; a write word, then an ask word, outside of quoted selections; else a silent call.

    Raises what `complete` raises: with the model out of reach there is no answer either way.
    """
    if force in get_args(EditorChatIntent):
        return cast(EditorChatIntent, force)
    if not text.strip():
        return "ask"
    return intent_by_words(text) or _intent_in(extract_json(await complete(Prompt(INTENT_PROMPT, text, temperature=0))))


def intent_by_words(text: str) -> EditorChatIntent | None:
    """None where no word tells. What is quoted from the document (quotation marks, `>` lines, fences) does not count."""
    own = _QUOTED.sub(" ", text)
    if _WRITE.search(own):
        return "write"
    return "ask" if _ASK.search(own) else None


def _intent_in(answer: Any) -> EditorChatIntent:
    return "write" if isinstance(answer, Mapping) and answer.get("intent") == "write" else "ask"
