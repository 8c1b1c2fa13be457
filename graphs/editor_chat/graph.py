"""START → classifyIntent → (write? writeEdit : chatbot) → END."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from graphs.catalog import Deps
from graphs.editor_chat.intent import classify_intent
from graphs.messages import DeltaMessagesState, last_request, with_system
from graphs.model_completion import over_model
from graphs.models import at_temperature
from graphs.writing.options import wish_of
from graphs.writing.prompts import chat_prompt
from graphs.writing.schemas import EditorChatIntent
from graphs.writing.write_edit import write_edit

TEMPERATURE = 0.7
_NEXT: dict[EditorChatIntent, str] = {"write": "writeEdit", "ask": "chatbot"}
NO_QUESTION = "还没有收到问题。可以问我文稿的任何地方，或让我改写全文。"


class EditorChatState(DeltaMessagesState):
    """`intent`: what the last message asked for."""

    intent: EditorChatIntent


def build(deps: Deps) -> StateGraph[Any, Any, Any, Any]:
    """Configurable: `forceIntent`, and what `graphs.writing.write_edit` takes. Raises `ValueError` without a model."""
    if deps.model is None:
        raise ValueError("editorChat needs a chat model")
    complete = deps.complete or over_model(deps.model)
    tempered = at_temperature(deps.model, TEMPERATURE)

    async def classify(state: EditorChatState, config: RunnableConfig) -> dict[str, EditorChatIntent]:
        force = config.get("configurable", {}).get("forceIntent")
        return {"intent": await classify_intent(last_request(state["messages"]), force, complete)}

    async def chatbot(state: EditorChatState, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        if not last_request(state["messages"]):
            return {"messages": [AIMessage(NO_QUESTION)]}
        options = config.get("configurable", {})
        prompt = chat_prompt(options.get("documentBaseline", ""), wish_of(options))
        return {"messages": [await tempered.ainvoke(with_system(prompt, state["messages"]), config)]}

    graph = StateGraph(EditorChatState)
    graph.add_node("classifyIntent", classify)
    graph.add_node("writeEdit", write_edit(deps.model, complete))
    graph.add_node("chatbot", chatbot)
    graph.add_edge(START, "classifyIntent")
    graph.add_conditional_edges("classifyIntent", lambda state: _NEXT[state["intent"]], list(_NEXT.values()))
    graph.add_edge("writeEdit", END)
    graph.add_edge("chatbot", END)
    return graph
