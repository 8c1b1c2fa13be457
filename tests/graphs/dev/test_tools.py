"""The weather tool against a server on a real socket."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.dev import tools
from tests.support.chat_wire import Wire, chat_wire

PLACE = {"results": [{"name": "柏林", "latitude": 52.5, "longitude": 13.4}]}
NOW = {"current": {"temperature_2m": 21, "relative_humidity_2m": 40, "wind_speed_10m": 7}}


async def ask(monkeypatch: pytest.MonkeyPatch, wire: Wire, answer: Any, status: int = 200) -> str:
    wire.answer, wire.status = answer, status
    monkeypatch.setattr(tools, "GEOCODING_URL", f"{wire.url}/search")
    monkeypatch.setattr(tools, "FORECAST_URL", f"{wire.url}/forecast")
    return str(await tools.get_weather.ainvoke({"location": "Berlin & more"}))


async def test_weather_is_geocoding_then_the_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is looked up, its coordinates are asked for, the answer names place and values."""
    with chat_wire() as wire:
        text = await ask(monkeypatch, wire, PLACE | NOW)
        assert text == "柏林：气温 21°C，湿度 40%，风速 7 km/h"
        assert [path.partition("&count")[0] for path in wire.asked] == [
            "/v1/search?name=Berlin+%26+more",
            "/v1/forecast?latitude=52.5&longitude=13.4&current=temperature_2m%2Crelative_humidity_2m%2Cwind_speed_10m",
        ]


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        ({}, 200, "没有找到地点：Berlin & more"),
        ({"error": True}, 500, "天气服务暂时不可用（HTTPStatusError），请稍后再试。"),
        ("no json", 200, "天气服务暂时不可用（JSONDecodeError），请稍后再试。"),
        (PLACE, 200, "天气服务暂时不可用（KeyError），请稍后再试。"),
        ([1], 200, "天气服务暂时不可用（JSONDecodeError），请稍后再试。"),
    ],
)
async def test_a_failure_becomes_text(monkeypatch: pytest.MonkeyPatch, answer: Any, status: int, text: str) -> None:
    """No place, a status, no JSON, JSON of another shape: the model reads a sentence."""
    with chat_wire() as wire:
        assert await ask(monkeypatch, wire, answer, status) == text


async def test_no_server_becomes_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline the tool says so at once."""
    with chat_wire() as wire:
        pass
    assert await ask(monkeypatch, wire, None) == "天气服务暂时不可用（ConnectError），请稍后再试。"
