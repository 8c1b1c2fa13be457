"""Chat models that say what they are told to, token by token, as a provider's stream would.

`ScriptedChatModel` is the machinery: a subclass decides each turn. Chunks carry what LangChain's v3 events need: typed content blocks
with an `index`, and tool-call chunks in chunks of their own (LangChain drops those of a chunk that also has content).
"""

from __future__ import annotations

import asyncio
import re
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import count
from json import dumps
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

Turn = AIMessage | str | BaseException | Sequence["AIMessageChunk | BaseException"]
"""What a model says: a message or text (streamed token by token), chunks as they are, or an exception; one among chunks is raised there."""

_TOKEN = re.compile(r"\s*[^\W\u3400-\u9fff]+|\s*.|\s+", re.DOTALL)
_INPUT_CHARS_PER_TOKEN = 4


def tokens_of(text: str) -> list[str]:
    """The text in pieces: a word with the space before it, a Chinese character, a sign. Joined they are the text again."""
    return _TOKEN.findall(text)


def chunks_of(message: AIMessage) -> list[AIMessageChunk]:
    """A message as a provider streams it: reasoning blocks, text blocks, then tool calls with their arguments in pieces."""
    index = count()
    chunks: list[AIMessageChunk] = []
    for block in message.content_blocks:
        if block["type"] in ("reasoning", "text"):
            kind, i = block["type"], next(index)
            chunks += [AIMessageChunk(content=[{"type": kind, kind: token, "index": i}]) for token in tokens_of(str(block.get(kind, "")))]
    for call in message.tool_calls:
        i = next(index)
        pieces = ["", *tokens_of(dumps(call["args"], ensure_ascii=False))]
        names = [call["name"], *[None] * (len(pieces) - 1)]
        ids = [call["id"], *[None] * (len(pieces) - 1)]
        chunks += [
            AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name=name, args=piece, id=id_, index=i)])
            for name, piece, id_ in zip(names, pieces, ids, strict=True)
        ]
    return chunks


class ScriptedChatModel(BaseChatModel):
    """A chat model without a provider. `delay_ms` is the pause before each token, in milliseconds."""

    model_name: str = "scripted"
    delay_ms: float = Field(default=0, ge=0)

    @abstractmethod
    def turn(self, messages: list[BaseMessage], tools: Sequence[str]) -> Turn:
        """What to say to `messages`; `tools` are the names of the bound tools."""

    @property
    def _llm_type(self) -> str:
        return self.model_name

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """As other models do: the tools go along with every call."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _pieces(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> Iterator[ChatGenerationChunk]:
        turn = self.turn(messages, [tool["function"]["name"] for tool in kwargs.get("tools") or ()])
        said = 0
        for chunk in _as_chunks(turn):
            if isinstance(chunk, BaseException):
                raise chunk
            said += 1
            yield ChatGenerationChunk(message=chunk)
        yield ChatGenerationChunk(message=self._last(messages, said))

    def _last(self, messages: list[BaseMessage], said: int) -> AIMessageChunk:
        """The chunk that ends a turn: the finish reason and what the turn would have cost."""
        read = sum(len(message.text) for message in messages) // _INPUT_CHARS_PER_TOKEN
        return AIMessageChunk(
            content="",
            chunk_position="last",
            response_metadata={"model_name": self.model_name, "finish_reason": "stop"},
            usage_metadata={"input_tokens": read, "output_tokens": said, "total_tokens": read + said},
        )

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._pieces(messages, kwargs):
            time.sleep(self.delay_ms / 1000)
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._pieces(messages, kwargs):
            await asyncio.sleep(self.delay_ms / 1000)
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))


def _as_chunks(turn: Turn) -> Sequence[AIMessageChunk | BaseException]:
    if isinstance(turn, BaseException):
        return [turn]
    if isinstance(turn, str):
        return chunks_of(AIMessage(turn))
    return chunks_of(turn) if isinstance(turn, AIMessage) else turn


class ScriptedModel(ScriptedChatModel):
    """For tests: says `turns` one after the other, one for each call. `calls` keeps what each call was given.

    A call without a turn left raises `LookupError`.
    """

    turns: list[Any] = Field(default_factory=list, description="`Turn`s; not typed for pydantic, which would copy messages.")
    _calls: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def calls(self) -> list[list[BaseMessage]]:
        """The messages of each call so far."""
        return self._calls

    def turn(self, messages: list[BaseMessage], tools: Sequence[str]) -> Turn:
        """The next turn of the script."""
        self._calls.append(list(messages))
        if len(self._calls) > len(self.turns):
            raise LookupError(f"the script has {len(self.turns)} turns, this is call {len(self._calls)}")
        turn: Turn = self.turns[len(self._calls) - 1]
        return turn
