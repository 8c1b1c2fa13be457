"""What the offline model does behind claudeAgent: the SDK and its CLI are real, only the model that they ask is this.

First match wins, by words in the last user message:

| words | what it does |
|---|---|
| `read FILE`, `读 FILE` | `Read` |
| `run: COMMAND`, `运行: COMMAND` | `Bash`, for the commands of `COMMANDS` alone |
| `fetch URL`, `抓取 URL` | `WebFetch`, which needs your approval |
| `find every WORD`, `find WORD`, `查找 WORD` | `Grep` |
| `outline`, `repository`, `概述`, `仓库` | `Bash` with `ls`, then `Read` of the README among the files |

After the results it answers from them. Anything else is left to the common rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, ToolMessage

from graphs.offline import Call, Conversation, calling, thoughtful
from graphs.scripted import Turn

COMMANDS = ("ls", "ls -a", "pwd", "git status --short", "git log --oneline -5")
"""What it runs when it is told to: a script that ran whatever it is told would be a shell for whoever can write to it."""
QUOTED_LINES = 12
_README = re.compile(r"^README\S*$", re.IGNORECASE | re.MULTILINE)


def reply(talk: Conversation, tools: Sequence[str]) -> Turn | None:
    """By the table of this module's docstring."""
    if "Read" not in tools:
        return None
    if talk.rounds == 0:
        calls = _first(talk)
        return _unknown_command(talk) if calls == [] else calling(talk, calls) if calls else None
    if talk.rounds == 1 and talk.says(_OUTLINE) and (found := _README.search(talk.results[-1].text)):
        return calling(talk, [("Read", {"file_path": found[0], "limit": QUOTED_LINES})])
    return _answer(talk)


_OUTLINE = r"\boutline\b|\brepository\b|概述|仓库"


def _first(talk: Conversation) -> list[Call] | None:
    """The calls that the words ask for; None: no words of ours, empty: a command that it does not run."""
    if file := re.search(r"(?:\bread|读)\s+([\w./~-]+)", talk.text, re.IGNORECASE):
        return [("Read", {"file_path": file[1]})]
    if command := re.search(r"(?:\brun|运行)\s*[:：]\s*(.+)", talk.text, re.IGNORECASE):
        wanted = command[1].strip()
        return [("Bash", {"command": wanted, "description": wanted})] if wanted in COMMANDS else []
    if url := re.search(r"(?:\bfetch|抓取)\s+(https?://\S+)", talk.text, re.IGNORECASE):
        return [("WebFetch", {"url": url[1], "prompt": talk.pick("概括这一页", "Sum up this page")})]
    if word := re.search(r"(?:\bfind(?: every)?|查找)\s+([\w.-]+)", talk.text, re.IGNORECASE):
        return [("Grep", {"pattern": word[1], "output_mode": "content", "head_limit": QUOTED_LINES, "-n": True})]
    return [("Bash", {"command": "ls", "description": "ls"})] if talk.says(_OUTLINE) else None


def _unknown_command(talk: Conversation) -> AIMessage:
    known = ", ".join(f"`{command}`" for command in COMMANDS)
    thought = talk.pick("离线时只运行几条命令。", "Offline I run a few commands only.")
    return thoughtful(thought, talk.pick(f"离线时我只运行：{known}。", f"Offline I only run: {known}."))


def _answer(talk: Conversation) -> AIMessage:
    thought = talk.pick("工具已有结果，据此回答。", "The tools have answered; I reply from their results.")
    return thoughtful(thought, "\n\n".join(_quoted(talk, result) for result in talk.results))


def _quoted(talk: Conversation, result: ToolMessage) -> str:
    lines = result.text.strip().splitlines()
    shown = "\n".join(lines[:QUOTED_LINES]).replace("```", "'''")
    more = talk.pick(f"\n（还有 {len(lines) - QUOTED_LINES} 行）", f"\n({len(lines) - QUOTED_LINES} more lines)")
    found = talk.pick("得到的是：", "This is what came back:")
    return f"{found}\n\n```\n{shown}\n```{more if len(lines) > QUOTED_LINES else ''}"
