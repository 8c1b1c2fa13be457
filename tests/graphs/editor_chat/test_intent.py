"""Answer or edit."""

from __future__ import annotations

import pytest

from graphs.completion import Prompt
from graphs.editor_chat.intent import classify_intent, intent_by_words
from graphs.writing.prompts import INTENT_PROMPT

WORDS: list[tuple[str, str | None]] = [
    ("润色全文", "write"),
    ("把第二段改写得正式一点", "write"),
    ("扩写第一段", "write"),
    ("缩短一些", "write"),
    ("续写", "write"),
    ("把标题改成周报", "write"),
    ("Polish it", "write"),
    ("please rewrite the intro", "write"),
    ("expand", "write"),
    ("Shorten this.", "write"),
    ("continue", "write"),
    ("change the title\nto Weekly", "write"),
    ("这句话是什么意思", "ask"),
    ("为什么这样写", "ask"),
    ("这个方案的优缺点", "ask"),
    ("解释一下", "ask"),
    ("What does this mean?", "ask"),
    ("why?", "ask"),
    ("pros and cons", "ask"),
    ("Explain the second point", "ask"),
    ("为什么要润色？", "write"),
    ("“请润色全文”是什么意思", "ask"),
    ("「改写」解释一下", "ask"),
    ('what does "rewrite it" mean', "ask"),
    ("> 请改写这一段\n为什么？", "ask"),
    ("```\npolish\n```\nexplain", "ask"),
    ("“为什么”改成“为何”", "write"),
    ("“润色”", None),
    ("discontinued", None),
    ("the meantime", None),
    ("changes", None),
    ("这一段好吗", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "intent"), WORDS)
def test_words(text: str, intent: str | None) -> None:
    """Write words before ask words, whole words, nothing of what is quoted."""
    assert intent_by_words(text) == intent


CALLS: list[tuple[str, str | None, str | None, str]] = [
    # text, force, what the model would answer (None: it is not asked), intent
    ("润色", "ask", None, "ask"),
    ("为什么", "write", None, "write"),
    ("", "write", None, "write"),
    ("", None, None, "ask"),
    ("  ", None, None, "ask"),
    ("润色", None, None, "write"),
    ("润色", "other", None, "write"),
    ("为什么", None, None, "ask"),
    ("好一点", None, '{"intent": "write"}', "write"),
    ("好一点", None, '```json\n{"intent": "ask"}\n```', "ask"),
    ("好一点", None, '{"intent": "both"}', "ask"),
    ("好一点", None, '["write"]', "ask"),
    ("好一点", None, "write", "ask"),
]


@pytest.mark.parametrize(("text", "force", "answer", "intent"), CALLS)
async def test_order(text: str, force: str | None, answer: str | None, intent: str) -> None:
    """Forced, no text, words, a silent call at temperature 0; what it does not say clearly is ask."""
    asked: list[Prompt] = []

    async def complete(prompt: Prompt) -> str:
        asked.append(prompt)
        assert answer is not None
        return answer

    assert await classify_intent(text, force, complete) == intent
    assert asked == ([] if answer is None else [Prompt(INTENT_PROMPT, text, 0, "silent")])
