"""What the process does while the app is loaded."""

from __future__ import annotations

import gc

import pytest
from pydantic import BaseModel, ValidationError

from functions.runtime import __main__
from functions.runtime.__main__ import loaded, unbuilt_models


def test_models_are_built_when_they_are_used() -> None:
    """One that is made while the app is loaded has no validator before its first use, and then refuses as any; later ones are built at
    once."""
    with unbuilt_models():

        class Part(BaseModel):
            number: int

        class Whole(BaseModel):
            parts: list[Part]

    class Later(BaseModel):
        number: int

    assert (Part.__pydantic_complete__, Whole.__pydantic_complete__, Later.__pydantic_complete__) == (False, False, True)
    assert Whole.model_validate_json('{"parts": [{"number": 1}]}').model_dump() == {"parts": [{"number": 1}]}
    with pytest.raises(ValidationError, match=r"parts.0.number"):
        Whole.model_validate({"parts": [{"number": "one"}]})
    assert Whole.__pydantic_complete__


def test_the_collector_rests_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is off while the app is loaded and on afterwards, models too; also where the app cannot be loaded."""
    seen: list[tuple[bool, object]] = []

    def load(handler: str) -> object:
        seen.append((gc.isenabled(), BaseModel.model_config.get("defer_build")))
        raise LookupError(handler)

    monkeypatch.setattr(__main__, "load", load)
    monkeypatch.setenv("_HANDLER", "no.such.app")
    monkeypatch.setattr(gc, "freeze", lambda: None)  # what this test process holds stays collectable
    with pytest.raises(LookupError, match=r"no\.such\.app"):
        loaded()
    assert seen == [(False, True)]
    assert (gc.isenabled(), "defer_build" in BaseModel.model_config) == (True, False)
