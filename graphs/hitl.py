"""Human in the loop: the six kinds of question, what they ask, what they take, and the four tools a model asks with.

`interrupt(value, response_schema=Answer | Cancelled)` puts the union's JSON Schema on the interrupt and hands the node a validated
instance, so one model is both what the client is told and what its answer is checked against. (LangGraph builds a `TypeAdapter`
from whatever it is given; its annotation only admits classes, hence the one cast below.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar, cast

from langchain_core.tools import BaseTool, tool
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field

CANCELLED_REASON = "用户取消"

ASK_PROMPT = """你可以用四个工具向用户提问：
- ask_input(message, placeholder?)：请用户输入一段文字。
- ask_choice(message, options)：请用户从选项里选一个。
- ask_multi_choice(message, options)：请用户从选项里选多个。
- ask_confirm(title, body, actions)：请用户在弹窗里点一个按钮。

缺少信息时必须调用上面的工具，不要在正文里提问；调用工具的那一轮不要输出正文。
用户可以给出选项以外的回答，那也是有效回答，不要强迫用户重新选择。"""


class Option(BaseModel):
    """One choice: what is shown, and what is sent back."""

    label: str = Field(description="Text shown to the user.")
    value: str = Field(description="Value sent back when it is chosen.")
    description: str | None = Field(default=None, description="A second line under the label.")


class InputRequest(BaseModel):
    """Asks for a text. Answer: `InputAnswer`."""

    type: Literal["input"] = "input"
    message: str
    placeholder: str | None = None


class SelectRequest(BaseModel):
    """Asks for one of the options, or a free text. Answer: `SelectAnswer`."""

    type: Literal["select"] = "select"
    message: str
    options: list[Option]


class MultiSelectRequest(BaseModel):
    """Asks for any number of options and free texts. Answer: `MultiSelectAnswer`."""

    type: Literal["multiSelect"] = "multiSelect"
    message: str
    options: list[Option]


class ModalRequest(BaseModel):
    """Shows a dialog with buttons. Answer: `ModalAnswer`."""

    type: Literal["modal"] = "modal"
    title: str
    body: str
    actions: list[str]


class ApprovalRequest(BaseModel):
    """Asks for permission to do what `details` says. Answer: `ApprovalAnswer`."""

    type: Literal["approval"] = "approval"
    message: str
    details: dict[str, Any]


class UnlockRequest(BaseModel):
    """Asks the user to make `key` available (sign in, connect an account). Answer: `UnlockAnswer`."""

    type: Literal["unlock"] = "unlock"
    message: str
    key: str


class InputAnswer(BaseModel):
    value: str


class SelectAnswer(BaseModel):
    value: str


class MultiSelectAnswer(BaseModel):
    values: list[str]


class ModalAnswer(BaseModel):
    action: str


class ApprovalAnswer(BaseModel):
    approved: bool
    reason: str | None = None


class UnlockAnswer(BaseModel):
    # `{}` is all there is to say; without `forbid` a cancellation would pass as an answer too
    model_config = ConfigDict(extra="forbid")


class Cancelled(BaseModel):
    """The user closed the question without an answer. Every kind but `approval`, whose refusal is `approved: false`, can get it."""

    cancelled: Literal[True]
    reason: str | None = None


Answer = TypeVar("Answer", bound=BaseModel)


def _ask(request: BaseModel, answer: type[Answer]) -> Answer | Cancelled:
    schema = cast("type[Answer | Cancelled]", answer | Cancelled)
    return interrupt(request.model_dump(exclude_none=True), response_schema=schema)


def request_input(request: InputRequest) -> InputAnswer | Cancelled:
    """Stops the task until the text is there. An answer of another shape raises `pydantic.ValidationError`; the question stays open."""
    return _ask(request, InputAnswer)


def request_select(request: SelectRequest) -> SelectAnswer | Cancelled:
    """As `request_input`, for one choice."""
    return _ask(request, SelectAnswer)


def request_multi_select(request: MultiSelectRequest) -> MultiSelectAnswer | Cancelled:
    """As `request_input`, for several choices; none is an answer too."""
    return _ask(request, MultiSelectAnswer)


def request_modal(request: ModalRequest) -> ModalAnswer | Cancelled:
    """As `request_input`, for a dialog's button."""
    return _ask(request, ModalAnswer)


def request_approval(request: ApprovalRequest) -> ApprovalAnswer:
    """As `request_input`, for a permission; a cancellation is a refusal."""
    answer = _ask(request, ApprovalAnswer)
    return ApprovalAnswer(approved=False, reason=answer.reason or CANCELLED_REASON) if isinstance(answer, Cancelled) else answer


def request_unlock(request: UnlockRequest) -> UnlockAnswer | Cancelled:
    """As `request_input`, for something only the user can unlock."""
    return _ask(request, UnlockAnswer)


def cancelled_text(cancelled: Cancelled) -> str:
    """The sentence that the model reads instead of an answer."""
    return f"用户取消了回答（{cancelled.reason or CANCELLED_REASON}）。"


def _label(value: str, options: Iterable[Option]) -> str:
    """The label of the option with that value, else the value: a free text is an answer of its own."""
    return next((option.label for option in options if option.value == value), value)


# The tools are async on purpose: with sync ones, which run in threads, answers of parallel calls were seen to swap.


@tool
async def ask_input(message: str, placeholder: str | None = None) -> str:
    """Ask the user to type a text. Use it when information is missing."""
    answer = request_input(InputRequest(message=message, placeholder=placeholder))
    return cancelled_text(answer) if isinstance(answer, Cancelled) else f"用户回答：{answer.value}"


@tool
async def ask_choice(message: str, options: list[Option]) -> str:
    """Ask the user to choose one option. The user may also answer with a text of their own."""
    answer = request_select(SelectRequest(message=message, options=options))
    return cancelled_text(answer) if isinstance(answer, Cancelled) else f"用户选择：{_label(answer.value, options)}"


@tool
async def ask_multi_choice(message: str, options: list[Option]) -> str:
    """Ask the user to choose any number of options. The user may also add texts of their own."""
    answer = request_multi_select(MultiSelectRequest(message=message, options=options))
    if isinstance(answer, Cancelled):
        return cancelled_text(answer)
    return f"用户选择：{', '.join(_label(value, options) for value in answer.values)}"


@tool
async def ask_confirm(title: str, body: str, actions: list[str]) -> str:
    """Show the user a dialog with one button for each action."""
    answer = request_modal(ModalRequest(title=title, body=body, actions=actions))
    return cancelled_text(answer) if isinstance(answer, Cancelled) else f"用户选择：{answer.action}"


ASK_TOOLS: tuple[BaseTool, ...] = (ask_input, ask_choice, ask_multi_choice, ask_confirm)
