"""Agents by name: the compiled graph and the rules that turn a client's input into what the graph takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ag_ui.core import RunAgentInput
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel

from graphs.catalog import AGENTS, AgentSpec, Deps, Options
from graphs.stream.parts import text_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class UnknownAgent(LookupError):
    """No agent has that name. `str()` names those that exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no agent {name!r}. Agents: {', '.join(AGENTS)}.")


@dataclass(frozen=True, slots=True)
class ServedAgent:
    """A graph that can be run, and how its input is read. `graph` has no principal yet: see `graph_for`. `model`: what it was made with."""

    spec: AgentSpec
    graph: Pregel[Any, Any, Any, Any]
    model: BaseChatModel | None = None

    def graph_for(self, checkpointer: BaseCheckpointSaver[Any] | None) -> Pregel[Any, Any, Any, Any]:
        """The same graph on a caller's own threads; None keeps the checkpointer it was compiled with."""
        if checkpointer is None:
            return self.graph
        return self.graph.copy({"checkpointer": checkpointer})

    def options(self, input: RunAgentInput) -> Options:
        return self.spec.read_options(_mapping(input.state), _mapping(input.forwarded_props))

    def stream_input(self) -> Callable[[RunAgentInput], dict[str, Any] | None]:
        return lambda input: stream_input(self.spec, input)


def find_spec(name: str) -> AgentSpec:
    """
    Raises:
        UnknownAgent: the catalog has no such name.
    """
    try:
        return AGENTS[name]
    except KeyError:
        raise UnknownAgent(name) from None


def compile_agent(spec: AgentSpec, deps: Deps, checkpointer: BaseCheckpointSaver[Any] | None) -> Pregel[Any, Any, Any, Any]:
    return spec.build(deps).compile(checkpointer=checkpointer, name=spec.name)


def stream_input(spec: AgentSpec, input: RunAgentInput) -> dict[str, Any] | None:
    """What an agent's rule adds to the graph input; None where the new messages are all.

    The last user message beats a state key; a state key counts only where the client sent no user message; then the sample text. An agent
    that `runs_empty` is run without a message, where there is none.
    """
    said = next((text_of(m.content) for m in reversed(input.messages) if m.role == "user"), None)
    if said is not None:
        return {spec.input_field: said} if spec.input_field else None
    state = _mapping(input.state)
    text = next((t for key in spec.input_keys if isinstance(t := state.get(key), str) and t.strip()), None) or spec.default_text
    if text is None:
        return {"messages": []} if spec.runs_empty else None
    given: dict[str, Any] = {"messages": [HumanMessage(content=text, id=str(uuid4()))]}
    return given | ({spec.input_field: text} if spec.input_field else {})


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
