"""Every scenario is told as it was, and every stream of it is legal. `pytest --update-golden` writes the stories anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.stories import SCENARIOS
from tests.scenarios.telling import recordings_of, told
from tests.support.streams import StreamRecorder

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.mark.parametrize("name", SCENARIOS)
async def test_stories(name: str, stream_recorder: StreamRecorder, request: pytest.FixtureRequest) -> None:
    """The same events in the same order; a change is a change of what clients see."""
    scenario = SCENARIOS[name]
    recordings = await recordings_of(scenario)
    for rec in recordings:
        stream_recorder.record(name, rec.input, rec.events, transient=rec.transient)
    story, file = told(f"{name.replace('_', ' ')}: {scenario.__doc__}", recordings), GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        file.write_text(story, "utf-8", newline="\n")
    assert story == file.read_text("utf-8")


def test_no_story_is_left_over() -> None:
    """One file a scenario, and no other."""
    assert {file.stem for file in GOLDEN.iterdir()} == set(SCENARIOS)
