"""The state of the demo, and what it asks."""

from __future__ import annotations

from typing import Any, Literal

from graphs.hitl import InputRequest, MultiSelectRequest, Option, SelectRequest
from graphs.messages import DeltaMessagesState

Intent = Literal["weather", "simpleTool", "hitlDemo", "kb"]


class DevState(DeltaMessagesState, total=False):
    """Public but for `messages`. `approval` is `{approved, reason?}`; `result` is what `execute_hitl` did."""

    devIntent: Intent
    input: str
    userPurpose: str
    priority: str
    extras: list[str]
    approval: dict[str, Any]
    result: dict[str, Any]


WHICH_INTENT = SelectRequest(
    message="想体验哪个功能？",
    options=[
        Option(label="查天气", value="weather", description="调用天气工具（需要模型）"),
        Option(label="查订单", value="simpleTool", description="调用订单工具并显示进度（需要模型）"),
        Option(label="人在回路演示", value="hitlDemo", description="输入、单选、多选、审批，不需要模型"),
        Option(label="知识库问答", value="kb", description="检索并引用（需要模型）"),
    ],
)
PURPOSE = InputRequest(message="这次操作的目的是什么？", placeholder="例如：清理过期数据")
PRIORITY = SelectRequest(
    message="优先级是什么？",
    options=[Option(label="低", value="low"), Option(label="中", value="medium"), Option(label="高", value="high")],
)
EXTRAS = MultiSelectRequest(
    message="还需要哪些附加动作？可以不选。",
    options=[Option(label="审计", value="audit"), Option(label="通知", value="notify"), Option(label="报告", value="report")],
)
