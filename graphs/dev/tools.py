"""The demo's two tools: the weather from Open-Meteo, and a simulated order."""

from __future__ import annotations

from typing import Any, cast

import httpx
from langchain_core.tools import tool
from langgraph.config import get_stream_writer

GEOCODING_URL = "https://geocoding-api.open-meteo.com/v1/search"
FORECAST_URL = "https://api.open-meteo.com/v1/forecast"
TIMEOUT_SECONDS = 10.0  # for each of the two requests
_CURRENT = "temperature_2m,relative_humidity_2m,wind_speed_10m"

ORDER_PROGRESS = "order_tool_progress"


@tool
async def get_weather(location: str) -> str:
    """Current weather at a place, by its name."""
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
            return await _weather(client, location)
    except (
        httpx.HTTPError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
    ) as error:  # offline, a status, no JSON, JSON of another shape
        return f"天气服务暂时不可用（{type(error).__name__}），请稍后再试。"


async def _weather(client: httpx.AsyncClient, location: str) -> str:
    places = (await _get(client, GEOCODING_URL, name=location, count="1", language="zh")).get("results")
    if not places:
        return f"没有找到地点：{location}"
    place = places[0]
    where = {"latitude": str(place["latitude"]), "longitude": str(place["longitude"])}
    now = (await _get(client, FORECAST_URL, **where, current=_CURRENT))["current"]
    return f"{place['name']}：气温 {now['temperature_2m']}°C，湿度 {now['relative_humidity_2m']}%，风速 {now['wind_speed_10m']} km/h"


async def _get(client: httpx.AsyncClient, url: str, **params: str) -> dict[str, Any]:
    response = (await client.get(url, params=params)).raise_for_status()
    return cast("dict[str, Any]", response.json())


@tool
async def fetch_user_order(orderId: str) -> str:
    """The state of an order, by its number."""
    get_stream_writer()({"name": ORDER_PROGRESS, "payload": {"orderId": orderId, "step": "dispatch"}})
    return f"订单 {orderId} 的状态：cancelled（已取消，模拟数据）"
