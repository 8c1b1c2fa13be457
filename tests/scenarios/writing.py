"""Stories of writer and editorChat, on the offline model, and one on a model that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from functions.runs.connect import connect_events
from graphs.catalog import AGENTS
from graphs.models import make_model
from tests.support.small_graphs import pieces
from tests.support.writing import opened, say, scripted

New = Callable[..., Any]
DOCUMENT = "\n# 周报\r\n\r\n其实进展很好,可以上线\r\n不变的一行。\r\n\r\nIt is very late 🎉\r\n"


def offline(name: str) -> Any:
    return make_model("offline", script=AGENTS[name].offline_script())


async def reload(talk: Any) -> None:
    """As another process shows the thread."""
    talk.keep("connect", await connect_events(talk.compiled(), talk.id, talk.settings["state_keys"]))


async def writer_document(new: New) -> None:
    """A whole document: working, thinking, the changes, a note; a reload; nothing to change in the next turn."""
    talk = opened(new, "writer", offline("writer"))
    await say(talk, "润色全文", editCase="document", documentBaseline=DOCUMENT)
    await reload(talk)
    await say(talk, "再看一遍", documentBaseline="很好。\n")


async def writer_selection(new: New) -> None:
    """Only the replacement of the selection; the next process rewrites another one."""
    talk = opened(new, "writer", offline("writer"))
    await say(talk, "其实很好,可以用", editCase="inline", polishInstruction="更短")
    await say(talk, "进行了测试", writerMode="inline")
    await reload(talk)


async def writer_notices(new: New) -> None:
    """Nothing to rewrite: no model call, no event."""
    talk = opened(new, "writer", scripted())
    await say(talk, None)
    await say(talk, "润色", documentBaseline="  \n")
    await say(talk, " ", editCase="inline")


async def writer_failure(new: New) -> None:
    """The model fails in the middle of the document; an empty run goes on."""
    half = [*pieces(("reasoning", "想一想", 0), ("text", "甲\n半", 1)), TimeoutError("host db-7.internal")]
    talk = opened(new, "writer", scripted(half, "甲\n丙", '{"summaries": ["换字"]}'))
    await say(talk, "润色", documentBaseline="甲\n乙\n")
    await say(talk, None, documentBaseline="甲\n乙\n")


async def editor_chat(new: New) -> None:
    """A rewrite that is asked for in words no rule knows, a question about it, a reload."""
    talk = opened(new, "editorChat", offline("editorChat"))
    await say(talk, "帮我弄得好一点", documentBaseline=DOCUMENT, focuses=["其实进展很好"])
    await say(talk, "为什么第四行不好？", documentBaseline=DOCUMENT)
    await reload(talk)


async def editor_chat_failure(new: New) -> None:
    """The model is out of reach while it decides, then fails in the middle of an answer; an empty run goes on."""
    half = [*pieces(("text", "因为", 0)), ConnectionError("host db-7.internal")]
    talk = opened(new, "editorChat", scripted(ConnectionError("host db-7.internal"), '{"intent": "ask"}', half, "因为太长。"))
    await say(talk, "好一点吗", documentBaseline=DOCUMENT)
    await say(talk, None, documentBaseline=DOCUMENT)
    await say(talk, None, documentBaseline=DOCUMENT)


STORIES = (writer_document, writer_selection, writer_notices, writer_failure, editor_chat, editor_chat_failure)
