"""What the models are told. The offline script knows each call by the first line of its system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphs.writing.schemas import EditorEditCase

EDIT_HEAD = "你是中文写作改写助手。"
_EDIT = (
    f"{EDIT_HEAD}\n"
    "- 忠实于原意：不增加事实，不遗漏信息，不改动数字、专有名词、链接和代码。\n"
    "- 保持原文的语体和结构：标题、列表、段落和换行照旧，未要求改动的行原样保留。\n"
    "- 用中文写作；原文是其他语言的部分保持其语言，除非要求翻译。"
)
_CASES: dict[EditorEditCase, str] = {
    "inline": "## 任务：改写选中的文字\n用户消息就是要改写的文字。只输出替换它的文字，不加引号、解释或代码围栏。",
    "document": "## 任务：改写全文\n<document> 中是全文。输出改写后的完整全文，不加解释、标签或代码围栏；不需要改的行逐字保留。",
}

SUMMARIES_PROMPT = (
    "你为文稿的修改写摘要。\n"
    "输入是 JSON 数组，每项是一处修改（index、originalText、newText）。"
    '按 index 顺序，为每处写一条不超过 20 个字的中文说明。只输出 JSON：{"summaries": ["…", "…"]}'
)

INTENT_PROMPT = (
    "你判断用户对写作助手的意图。\n"
    "write：要求直接修改、改写或续写文稿；ask：提问、讨论或征求意见。"
    '只输出 JSON：{"intent": "ask"} 或 {"intent": "write"}'
)

CHAT_HEAD = "你是写作助手，负责解释和建议。"
_CHAT = (
    f"{CHAT_HEAD}\n"
    "- 回答关于文稿的问题，指出具体位置并给出修改建议和理由；可以举短例。\n"
    "- 不要给出整段或全文的替换稿，也不要声称已经修改了文稿：你在这里不能修改。需要改写时，请用户说“请改写”。\n"
    "- 用中文回答。"
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the client wants of an edit: an instruction in words, and texts of the document to attend to."""

    instruction: str = ""
    focuses: Sequence[str] = ()


def edit_prompt(case: EditorEditCase, wish: Wish) -> str:
    """The system prompt of a rewrite: the rules, the case's section, the instruction, the focus texts."""
    return "\n\n".join([_EDIT, _CASES[case], *_wish_sections(wish)])


def chat_prompt(document: str, wish: Wish) -> str:
    """The system prompt of a talk about a document; an empty one is left out."""
    shown = [f"<document>\n{document}\n</document>"] if document.strip() else []
    return "\n\n".join([_CHAT, *_wish_sections(wish), *shown])


def document_request(document: str, request: str, conversation: str) -> str:
    """The user's side of a rewrite of a whole document; what is empty is left out."""
    parts = {"conversation": conversation, "request": request, "document": document}
    return "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in parts.items() if text)


def _wish_sections(wish: Wish) -> list[str]:
    numbered = "\n".join(f"{i}. {text}" for i, text in enumerate(wish.focuses, start=1))
    sections = {"## 改写要求": wish.instruction, "## 重点关注的文字": numbered}
    return [f"{title}\n{text}" for title, text in sections.items() if text]
