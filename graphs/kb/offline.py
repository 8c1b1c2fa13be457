"""What the offline model does for kb. It reads the numbered chunks of the prompt, as a real model would:

| words | what it does |
|---|---|
| any question | thinks, then quotes from the first chunk the sentence that shares most with the question, with its number |
| `cite wrong`, `引用错误` | the first draft has a quotation that no chunk holds; the second, told so, is right |
| `never cite right`, `始终引用错误` | no draft is right: the answer is an apology |
| `fail now`, `count to N` … | the common rules of `graphs.offline.rules` |

As the rewriter it gives a follow-up (`and …?`, `那…呢？`) the words of the question before it, and any other question
back without the words of this table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, HumanMessage

from graphs.kb.prompts import ANSWER_PROMPT, CONTEXT_TITLE, CORRECTION_TITLE, REWRITE_PROMPT
from graphs.knowledge.words import index_terms
from graphs.offline import Conversation, thoughtful
from graphs.scripted import Turn

_CHUNK = re.compile(r"^\[\d+\] .*\n((?:(?!^\[\d+\] ).*\n?)+)", re.MULTILINE)
_SENTENCE = re.compile(r"[^。！？!?\n]+?(?:[。！？!?]|\.(?=\s|\Z)|\n|\Z)")
_FOLLOW_UP = re.compile(r"^(and|what about|how about)\b|^那|呢[？?]?$", re.IGNORECASE)
_COMMON = r"\bfail now\b|出错|\bcount to\b|数到"
_NEVER = r"\bnever cite right\b|始终引用错误"
_WRONG = rf"\bcite wrong\b|引用错误|{_NEVER}"


def script(talk: Conversation, tools: Sequence[str]) -> Turn | None:
    """Answers both of kb's prompts; None for any other."""
    if talk.system.startswith(REWRITE_PROMPT[:8]):
        return _rewritten(talk)
    if ANSWER_PROMPT[:8] not in talk.system or talk.says(_COMMON):
        return None
    if talk.says(_NEVER) or (talk.says(_WRONG) and CORRECTION_TITLE not in talk.system):
        return _misquoted(talk)
    return _quoting(talk)


def _rewritten(talk: Conversation) -> str:
    asked = [message.text for message in talk.messages if isinstance(message, HumanMessage)]
    text = re.sub(rf"(?:{_WRONG})[:：,，]?\s*", "", talk.text, flags=re.IGNORECASE)
    return f"{asked[-2]} {text}" if _FOLLOW_UP.search(text) and len(asked) > 1 else text


def _misquoted(talk: Conversation) -> AIMessage:
    thought = talk.pick("凭记忆引用，不核对原文。", "I quote from memory and do not look it up.")
    return thoughtful(thought, talk.pick("制度写着「可以休一百天」[1]。", "The text says “a hundred days off” [1]."))


def _quoting(talk: Conversation) -> AIMessage:
    sentence = _nearest(talk.text, talk.system.partition(CONTEXT_TITLE)[2].partition(CORRECTION_TITLE)[0])
    thought = talk.pick("片段里有答案，引用原文并标注来源。", "The chunks hold the answer; I quote it and name the source.")
    return thoughtful(thought, talk.pick(f"根据资料：「{sentence}」[1]", f"The document says: “{sentence}” [1]"))


def _nearest(question: str, context: str) -> str:
    """The sentence of the first chunk that shares most terms with the question, without quotation marks that would end the quotation."""
    first = _CHUNK.search(context)
    wanted = set(index_terms(question))
    sentences = [found[0].strip() for found in _SENTENCE.finditer(first[1] if first else "") if found[0].strip()]
    best = max(sentences, key=lambda sentence: len(wanted & set(index_terms(sentence))), default="")
    return max(re.split(r"[「」“”\"]", best), key=len).strip()
