"""Which model rewrites documents: the agent's own, or a server that the settings name."""

from __future__ import annotations

import pytest

from functions.parts import complete, make_deps
from functions.settings import Settings
from graphs.catalog import AGENTS
from graphs.completion import Prompt
from tests.support.chat_wire import chat_wire


def test_by_default_the_chat_model_does() -> None:
    """No server is named: nothing is made."""
    assert complete.make(Settings()) is None
    assert make_deps(AGENTS["writer"], Settings()).complete is None


@pytest.mark.parametrize(
    ("named", "model"),
    [({"completion_model": "own"}, "own"), ({"model": "openai:gpt"}, "gpt"), ({"completion_model": "a", "model": "b:c"}, "a")],
)
async def test_a_server_of_its_own(named: dict[str, str], model: str) -> None:
    """It gets the model's name and the key."""
    with chat_wire() as wire:
        wire.answer = {"choices": [{"message": {"content": " text "}}]}
        made = complete.make(Settings(completion_url=wire.url, completion_key="secret", **named))  # type: ignore[arg-type]
        assert made is not None
        assert await made(Prompt("s", "u")) == "text"
    assert wire.asked[0]["model"] == model
    assert wire.headers[0]["authorization"] == "Bearer secret"


def test_a_server_without_a_model_is_refused() -> None:
    """At the start, with the variable that is missing."""
    with pytest.raises(ValueError, match="AGENTS_COMPLETION_MODEL"):
        complete.make(Settings(completion_url="http://127.0.0.1:1/v1"))


def test_only_agents_that_write_get_it() -> None:
    """An agent's spec names its parts."""
    settings = Settings(completion_url="http://127.0.0.1:1/v1", completion_model="m")
    assert make_deps(AGENTS["editorChat"], settings).complete is not None
    assert make_deps(AGENTS["dev"], settings).complete is None


def test_the_key_is_not_in_the_repr() -> None:
    """It cannot reach a log by accident."""
    assert "sk-kept" not in repr(Settings(completion_key="sk-kept"))
