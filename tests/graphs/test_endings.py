"""What a provider's answer must end with."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from graphs.endings import ModelRefused, StreamCut, WholeAnswers

CALL = {"name": "x", "args": {}, "id": "c", "type": "tool_call"}
ENDINGS: dict[str, tuple[AIMessage, type[Exception] | None]] = {
    "OpenAI": (AIMessage("x", response_metadata={"finish_reason": "stop"}), None),
    "Anthropic": (AIMessage("x", response_metadata={"stop_reason": "end_turn"}), None),
    "Bedrock": (AIMessage("x", response_metadata={"stopReason": "end_turn"}), None),
    "OpenAI's Responses API": (AIMessage("x", response_metadata={"status": "completed"}), None),
    "cut at the limit of tokens": (AIMessage("half", response_metadata={"finish_reason": "length"}), None),
    "without a reason": (AIMessage("half", response_metadata={"model_name": "m", "finish_reason": None}), StreamCut),
    "refused in words": (AIMessage("no", response_metadata={"stop_reason": "refusal"}), None),
    "refused": (AIMessage("", response_metadata={"stop_reason": "refusal"}), ModelRefused),
    "filtered": (AIMessage("", response_metadata={"finish_reason": "content_filter"}), ModelRefused),
    "filtered after a call": (AIMessage("", tool_calls=[CALL], response_metadata={"finish_reason": "content_filter"}), None),
    "nothing to say": (AIMessage("", response_metadata={"finish_reason": "stop"}), None),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_endings(case: str) -> None:
    """A reason, whatever its name; a refusal needs words or a call beside it."""
    message, error = ENDINGS[case]
    result = LLMResult(generations=[[ChatGeneration(message=message)]])

    def end() -> Any:
        WholeAnswers().on_llm_end(result)

    if error is None:
        end()
    else:
        with pytest.raises(error):
            end()
