"""How the offline model rewrites: plain rules, line by line, each with the note that a change by it gets. The same text always gets the
same rewrite, and a text it has rewritten stays as it is.

| a request with | does |
|---|---|
| `精简`, `缩写`, `缩短`, `shorten`, `condense` | keeps the first sentence of every paragraph, after polishing it |
| `扩写`, `扩展`, `expand` | adds a sentence to every paragraph |
| `续写`, `接着写`, `继续写`, `continue` | adds a closing paragraph |
| anything else | polishes: blanks, punctuation, wordy phrases, doubled words, the missing full stop |

Headings, lists, quotes, tables and fenced code keep their form; code is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

_CJK = "\u3400-\u9fff"
_SENTENCE = re.compile(r".+?(?:[。！？]|[.!?](?=\s|$)|$)", re.DOTALL)
_FULL_WIDTH = str.maketrans(",;:?!", "，；：？！")
_SHORT_LINE = 10
_PASSES = 10
_CLOSING = ("总之，以上各点相互支持，值得继续推进。", "In short, these points support each other.")
_ADDED = ("这一点在实践中尤为重要。", " This matters most in practice.")
_SHAPED = re.compile(r"\s*(?:#|>|\||[-*+]\s|\d+[.)、]\s?|<|!\[|---|===|```)")

_WORDY: tuple[tuple[str, str], ...] = (
    (r"其实|说实话，?|众所周知，?|毫无疑问，?", ""),
    (r"非常非常|十分非常", "非常"),
    (r"在这种情况下", "此时"),
    (r"由于([^，。\n]{1,30})的原因", r"由于\1"),
    (r"进行(了?)(讨论|分析|研究|修改|调整|测试|检查|说明|总结|优化)", r"\2\1"),
    (r"(?i)\bin order to\b", "to"),
    (r"(?i)\bdue to the fact that\b", "because"),
    (r"(?i)\bat this point in time\b", "now"),
    (r"(?i)\b(?:very|really|basically|actually) ", ""),
    (r"\butilize", "use"),
)


class Rule(NamedTuple):
    """`note` says what a change by `apply` does."""

    note: str
    apply: Callable[[str], str]


def _replacing(pattern: str, replacement: str) -> Callable[[str], str]:
    return partial(re.compile(pattern).sub, replacement)


def _full_width(line: str) -> str:
    return re.sub(rf"(?<=[{_CJK}])[,;:?!](?=[{_CJK}\s]|$)", lambda found: found[0].translate(_FULL_WIDTH), line)


def _concise(line: str) -> str:
    for pattern, replacement in _WORDY:
        line = re.sub(pattern, replacement, line)
    return line


def _ended(line: str) -> str:
    """With a full stop, where a line of prose ends in a letter."""
    if len(line) < _SHORT_LINE or _SHAPED.match(line) or not re.search(r"\w$", line):
        return line
    return line + ("。" if re.search(rf"[{_CJK}]", line) else ".")


RULES: tuple[Rule, ...] = (
    Rule("去除多余空格", lambda line: re.sub(r"(?<=\S)[ \t]{2,}(?=\S)", " ", line.rstrip(" \t"))),
    Rule("统一全角标点", _full_width),
    Rule("精简冗余表达", _concise),
    Rule("删去重复的词", _replacing(r"\b([A-Za-z]+)(?: \1\b)+|(的)的+(?!确)", r"\1\2")),
    Rule("中英文间加空格", _replacing(rf"(?<=[{_CJK}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{_CJK}])", " ")),
    Rule("补全句末标点", _ended),
)


def rewrite(text: str, request: str) -> str:
    """`text` by the rule that the request names."""
    if _asks(request, "续写|接着写|继续写|continue"):
        return f"{_by_line(text, polish)}\n\n{_either(text, _CLOSING)}"
    if _asks(request, "精简|简化|缩写|缩短|shorten|condense"):
        return _by_line(text, _first_sentence)
    if _asks(request, "扩写|扩展|expand"):
        return _by_line(text, _expanded)
    return _by_line(text, polish)


def polish(line: str) -> str:
    """Every rule, in order, until none has anything left to do: one may make work for another."""
    for _ in range(_PASSES):
        before = line
        for rule in RULES:
            line = rule.apply(line)
        if line == before:
            break
    return line


def note_for(old: str, new: str) -> str:
    """What a change does: by the first rule that explains a part of it, else by what came and went."""
    if not old.strip():
        return "新增段落"
    if not new.strip():
        return "删去段落"
    if _by_line(old, polish) == new or len(old) == len(new):
        return next((rule.note for rule in RULES if _by_line(old, rule.apply) != old), "调整用词")
    return "精简内容" if len(new) < len(old) else "补充内容"


def findings(text: str) -> Iterator[tuple[int, str]]:
    """(line number from 1, note) of what polishing would change."""
    for number, (line, is_prose) in enumerate(_lines(text), start=1):
        yield from ((number, note) for note in (_notes(line.removesuffix("\r")) if is_prose else ()))


def _notes(line: str) -> Iterator[str]:
    for rule in RULES:
        before, line = line, rule.apply(line)
        if line != before:
            yield rule.note


def _by_line(text: str, change: Callable[[str], str]) -> str:
    """Each line of prose, changed; line ends as they are."""
    lines: list[str] = []
    for line, is_prose in _lines(text):
        body = line.removesuffix("\r")
        lines.append(change(body) + line[len(body) :] if is_prose else line)
    return "\n".join(lines)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is prose: neither blank nor a part of fenced code."""
    fenced = False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        yield line, bool(line.strip()) and not fenced and not fence
        fenced ^= fence


def _first_sentence(line: str) -> str:
    polished = polish(line)
    if _SHAPED.match(line):
        return polished
    first: str = _SENTENCE.findall(polished)[0]
    return first.rstrip()


def _expanded(line: str) -> str:
    polished, more = polish(line), _either(line, _ADDED)
    return polished if _SHAPED.match(line) or len(line) < _SHORT_LINE or polished.endswith(more) else polished + more


def _either(text: str, said: tuple[str, str]) -> str:
    return said[0] if re.search(rf"[{_CJK}]", text) else said[1]


def _asks(request: str, words: str) -> bool:
    return re.search(words, request, re.IGNORECASE) is not None
