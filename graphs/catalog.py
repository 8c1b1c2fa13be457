"""The agents as plain data. Importing this module imports no agent, no LangChain and no LangGraph: infrastructure reads it too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool
    from langgraph.graph import StateGraph

    from graphs.claude_setup import ClaudeSetup
    from graphs.completion import Completion
    from graphs.knowledge import KnowledgeSource
    from graphs.offline import Script
    from graphs.tools import ToolLoader


@dataclass(frozen=True, slots=True)
class Deps:
    """What an agent is built from; a test hands in a scripted model.

    `knowledge` None means the bundled documents. `tools` replace an agent's own tools of the same name, the others are added. `market`
    loads the tools of a market data server; None means the bundled sample data. `complete` asks beside the stream
    (`graphs.completion`); None means through `model`.
    """

    model: BaseChatModel | None
    knowledge: KnowledgeSource | None = None
    tools: Sequence[BaseTool] | None = None
    market: ToolLoader | None = None
    complete: Completion | None = None
    claude: ClaudeSetup | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What one run takes from the client: entries for `configurable`, the graph's step limit (None: the agent's default), and the
    context of a graph with a `context_schema`."""

    configurable: dict[str, Any] = field(default_factory=dict)
    recursion_limit: int | None = None
    context: Any = None


OptionsReader = Callable[[Mapping[str, Any], Mapping[str, Any]], Options]
"""`(input.state, input.forwardedProps) -> Options`; never raises on what a client sends."""


class PredictState(NamedTuple):
    """While `argument` of a call of `tool` streams, the client sees it in the public key `state_key`, as far as it got."""

    tool: str
    argument: str
    state_key: str


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent. `module`, `options` and `script` are `"package.module:attribute"`, imported on first use."""

    name: str
    title: str
    description: str
    module: str
    state_keys: tuple[str, ...]  # public keys of the state snapshot, never `messages`
    input_keys: tuple[str, ...] = ()  # state keys that may carry the input text
    default_text: str | None = None  # sample text on an empty thread without a message
    runs_empty: bool = False  # without that too: the graph is run and says what it needs; otherwise such a run is refused
    options: str | None = None
    input_field: str | None = None  # graph state field that gets the text too
    recursion_limit: int = 50
    predict_state: tuple[PredictState, ...] = ()
    needs_model: bool = True  # False: its main path runs with `Deps(model=None)`
    script: str | None = None  # its own part of the offline model: `graphs.offline.Script`
    prompts: tuple[str, ...] = ()  # what the page suggests to say first
    parts: tuple[str, ...] = ()  # fields of `Deps` that `functions.parts` makes for it, beside the model
    routes: tuple[str, ...] = ()  # modules of `functions.web` that its URL serves beside the run
    extras: tuple[str, ...] = ()  # extras of pyproject.toml that its bundle carries, beside its model's
    fits_zip: bool = True  # False: its bundle is over the 250 MB that Lambda takes from a zip
    packages: tuple[str, ...] = ()  # modules that `extras` bring and without which it cannot run
    providers: tuple[str, ...] = ()  # of models that it works with, beside the offline one; none: any

    def build(self, deps: Deps) -> StateGraph[Any, Any, Any, Any]:
        """The agent's graph, not compiled."""
        return cast("StateGraph[Any, Any, Any, Any]", _load(self.module)(deps))

    def read_options(self, state: Mapping[str, Any], forwarded: Mapping[str, Any]) -> Options:
        """What the client asked for, cleaned; empty for an agent without options."""
        return cast(OptionsReader, _load(self.options))(state, forwarded) if self.options else Options()

    def unavailable(self, model: str) -> str | None:
        """Why it cannot run on this machine with `model`, and what mends that; None: it can. Imports nothing."""
        if missing := [package for package in self.packages if find_spec(package) is None]:
            wanted = " ".join(f"--extra {extra}" for extra in self.extras)
            return f"{self.name} needs the package {', '.join(missing)}, which is not installed. Install it with: uv sync {wanted}"
        if self.providers and model != "offline" and model.partition(":")[0] not in self.providers:
            wanted = ", ".join(f"{provider}:…" for provider in self.providers)
            return f"{self.name} works with {wanted} or offline, and the model is {model}. Set AGENTS_MODEL to one of these."
        return None

    def offline_script(self) -> Script | None:
        """What the offline model does for this agent alone; None: nothing."""
        return cast("Script", _load(self.script)) if self.script else None


def _load(path: str) -> Callable[..., Any]:
    module, _, attribute = path.partition(":")
    return cast(Callable[..., Any], getattr(import_module(module), attribute))


_SPECS = (
    AgentSpec(
        name="claudeAgent",
        title="Claude Agent",
        description="The Claude Agent SDK over a folder: it reads, searches and runs commands, and asks you before it goes on the network.",
        module="graphs.claude.graph:build",
        state_keys=(),
        default_text="Outline this repository: what is in it, and where to begin reading.",
        needs_model=False,
        script="graphs.claude.script:reply",
        prompts=(
            "Outline this repository",
            "Find every TODO",
            "Read README.md",
            "Run: ls",
            "Fetch https://example.com",
        ),
        parts=("claude",),
        extras=("claude",),
        fits_zip=False,  # 450 MiB: the SDK brings a CLI of 368 MiB
        packages=("claude_agent_sdk",),
        providers=("anthropic", "bedrock", "bedrock_converse"),
    ),
    AgentSpec(
        name="reactAgent",
        title="ReAct agent",
        description="A tool loop that searches the knowledge base and asks you when something is missing.",
        module="graphs.react.graph:build",
        state_keys=(),
        default_text="hello",
        options="graphs.react.options:read",
        parts=("knowledge",),
        routes=("citations",),
        prompts=(
            "How many days of annual leave do I have?",
            "年假有几天？",
            "Ask me two things at once: ask two",
            "Let me choose what to search for",
            "count to 100",
        ),
    ),
    AgentSpec(
        name="dev",
        title="Demo",
        description="Every kind of interrupt in one conversation, and weather, order and knowledge tools. Its main path needs no model.",
        module="graphs.dev.graph:build",
        state_keys=("devIntent", "input", "userPurpose", "priority", "extras", "approval", "result"),
        input_keys=("input", "message"),
        default_text="start demo",
        input_field="input",
        needs_model=False,
        prompts=("start demo",),
        parts=("knowledge",),
        routes=("citations",),
    ),
    AgentSpec(
        name="kb",
        title="Knowledge base",
        description="Answers from documents that you import, with citations that are checked and open the passage they name.",
        module="graphs.kb.graph:build",
        state_keys=("rewrittenQueries", "retrievedChunks", "routeRejected", "citationRetries"),
        input_keys=("message",),
        default_text="年假有几天？",
        options="graphs.kb.options:read",
        script="graphs.kb.offline:script",
        parts=("knowledge",),
        routes=("citations", "documents"),
        prompts=(
            "年假有几天？可以结转吗？",
            "How many days before a trip's claim must be filed?",
            "How do several questions of one turn stay apart?",
            "cite wrong: how much sick leave is there?",
            "Who won the football match yesterday?",
        ),
    ),
    AgentSpec(
        name="tushare",
        title="A-share analysis",
        description="Looks up stocks and their daily data on Tushare's MCP server and analyses them; without a token, on sample data.",
        module="graphs.tushare.graph:build",
        state_keys=(),
        default_text="分析一下平安最近一个月的走势",
        script="graphs.tushare.offline:script",
        prompts=("分析一下平安最近一个月的走势", "贵州茅台的月线怎么样？", "600036.SH 最近三天的量价", "帮我看看一只股票"),
        parts=("market",),
        extras=("tushare",),
    ),
    AgentSpec(
        name="writer",
        title="Writer",
        description="Rewrites a selection or a whole document, as changes with a summary each that you accept or reject.",
        module="graphs.writer.graph:build",
        state_keys=(),
        input_keys=("originalMarkdown",),
        runs_empty=True,
        options="graphs.writer.options:read",
        script="graphs.writing.offline:script",
        prompts=("润色全文", "精简全文", "扩写全文", "Polish the document"),
        parts=("complete",),
    ),
    AgentSpec(
        name="editorChat",
        title="Editor chat",
        description="Talks about your document: answers and suggests, and rewrites it when you ask for that.",
        module="graphs.editor_chat.graph:build",
        state_keys=(),
        runs_empty=True,
        options="graphs.editor_chat.options:read",
        script="graphs.writing.offline:script",
        prompts=("这篇文稿哪里可以改进？", "润色全文", "Why is the second paragraph weak?"),
        parts=("complete",),
    ),
)

AGENTS: Mapping[str, AgentSpec] = MappingProxyType({spec.name: spec for spec in _SPECS})
"""Name to spec, in the registry's order."""
