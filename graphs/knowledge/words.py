"""A text as the terms that are searched: words, and of Chinese, Japanese and Korean the bigrams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PLURAL = re.compile(r"(?<=[a-z]{3})(?<![su])s$")


@cache
def _run() -> re.Pattern[str]:
    """Cached: compiled when somebody searches, and not at every cold start; so are the others."""
    return re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")


@cache
def _cjk() -> re.Pattern[str]:
    return re.compile(rf"[{_CJK}]")


@cache
def _stop_words() -> re.Pattern[str]:
    return re.compile(
        r"\b(a|about|am|an|and|any|are|as|at|be|been|by|can|could|did|do|does|for|from|get|had|has|have|how|i|if|in|into|is|it|its|many|may"
        r"|me|much|must|my|of|on|or|our|per|please|should|so|tell|than|that|the|their|them|there|they|this|those|to|us|was|we|were|what|when"
        r"|where|which|who|why|will|with|would|you|your)\b"
        r"|什么时候|是不是|有没有|能不能|可不可以|为什么|怎么样|怎么办|请问|告诉我|什么|怎么|怎样|如何|多少|多久|哪些|哪个|哪里|哪天|是否|可以|需要|能够"
        r"|我们|你们|他们|一下|应该|几个|几天|几次|关于|[的了吗呢吧啊么和与及或是有在我你他她它们要会能把被给让就也都请几哪谁这那]",
        re.IGNORECASE,
    )


def index_terms(text: str) -> Iterator[str]:
    """Words; for a run of CJK characters its bigrams and its characters (so that a query of one character finds it)."""
    is_cjk = _cjk().match
    for run in _run().findall(text):
        if is_cjk(run):
            yield from run
            yield from _bigrams(run)
        else:
            yield _word(run)


def query_terms(text: str) -> Iterator[str]:
    """As `index_terms`, with bigrams only where there are any: single characters are in nearly every text."""
    is_cjk = _cjk().match
    for run in _run().findall(text):
        if is_cjk(run):
            yield from _bigrams(run) if len(run) > 1 else run
        else:
            yield _word(run)


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def without_stop_words(text: str) -> str:
    """The text without common words of English and Chinese; as it is if nothing else is in it."""
    kept = _stop_words().sub(" ", text)
    return kept if kept.strip(" ?.,!？。，！、") else text


def _word(run: str) -> str:
    """In lower case, an English plural as its singular."""
    word = run.lower()
    return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else _PLURAL.sub("", word)
