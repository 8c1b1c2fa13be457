"""The registry is data: cheap to read, true to the agents it names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graphs.catalog import AGENTS, Deps, Options
from graphs.models import OfflineModel

ORDER = ("claudeAgent", "reactAgent", "dev", "kb", "tushare", "writer", "editorChat")


def test_agents_stand_in_the_registrys_order() -> None:
    """The order is what the page shows; an agent of one's own may stand anywhere."""
    assert [name for name in AGENTS if name in ORDER] == [name for name in ORDER if name in AGENTS]
    assert all(spec.name == name for name, spec in AGENTS.items())


def test_reading_the_catalog_imports_nothing_heavy() -> None:
    """Infrastructure reads it without LangChain or LangGraph installed in its environment."""
    code = "import sys, graphs.catalog; print([m for m in sys.modules if m.split('.')[0].startswith(('lang', 'pydantic', 'httpx'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_agents_bring_no_web_and_no_aws() -> None:
    """Building both agents loads neither boto3 nor a web framework nor the provider packages."""
    code = (
        "import sys; from graphs.catalog import AGENTS, Deps; from graphs.models import make_model;"
        "[spec.build(Deps(make_model('offline'))) for spec in AGENTS.values()];"
        "foreign = {'boto3', 'botocore', 'fastapi', 'functions', 'infra', 'ag_ui', 'openai', 'langchain'};"
        "print(sorted({m.split('.')[0] for m in sys.modules} & foreign))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_builds_and_its_keys_are_its_graphs(name: str) -> None:
    """State keys, input keys and the input field exist in the graph's state; messages are never among them."""
    spec = AGENTS[name]
    graph = spec.build(Deps(OfflineModel()))
    assert {*spec.state_keys} <= set(graph.channels)
    assert spec.input_field is None or spec.input_field in graph.channels
    assert {prediction.state_key for prediction in spec.predict_state} <= {*spec.state_keys}
    assert "messages" not in spec.state_keys


def test_an_agent_without_options_reads_none() -> None:
    """dev takes nothing from the client but its state."""
    assert AGENTS["dev"].read_options({"kbId": "x"}, {"reactAgent": {"maxSteps": 3}}) == Options()


def test_only_dev_builds_without_a_model() -> None:
    """`needs_model` says which agents a missing model stops."""
    AGENTS["dev"].build(Deps(None))
    with pytest.raises(ValueError, match="needs a chat model"):
        AGENTS["reactAgent"].build(Deps(None))
    assert (AGENTS["reactAgent"].needs_model, AGENTS["dev"].needs_model) == (True, False)
