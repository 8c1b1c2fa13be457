"""The translation: LangGraph v3 event streams → AG-UI. Imports langgraph, langchain_core and ag_ui, nothing of this project."""

from graphs.stream.custom import any_event
from graphs.stream.history import message_from_agui, messages_from_agui, messages_to_agui, wire_call_ids
from graphs.stream.identity import MessageIdentity
from graphs.stream.interrupts import map_interrupt_payload, map_interrupts, refusal
from graphs.stream.jsonable import jsonable
from graphs.stream.resume import NO_RESUME, resolve_resume_from_run_agent_input
from graphs.stream.state import Prediction, public_state, same_json
from graphs.stream.transformer import AguiTransformer
from graphs.stream.writer import AGUI_WRITER_EVENT, write_agui_assistant_text, write_agui_event

__all__ = [
    "AGUI_WRITER_EVENT",
    "NO_RESUME",
    "AguiTransformer",
    "MessageIdentity",
    "Prediction",
    "any_event",
    "jsonable",
    "map_interrupt_payload",
    "map_interrupts",
    "message_from_agui",
    "messages_from_agui",
    "messages_to_agui",
    "public_state",
    "refusal",
    "resolve_resume_from_run_agent_input",
    "same_json",
    "wire_call_ids",
    "write_agui_assistant_text",
    "write_agui_event",
]
