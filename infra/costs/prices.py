"""List prices as data, `prices.json`: each with its unit, its date, what it rests on and where to compare it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

FILE = Path(__file__).with_name("prices.json")
DEFAULT_REGION = "us-east-1"

Name = Literal[
    "lambda_request",
    "lambda_gb_second",
    "lambda_streamed_gb",
    "snapstart_cached_gb_second",
    "snapstart_restored_gb",
    "dynamodb_write_unit",
    "dynamodb_read_unit",
    "dynamodb_gb_month",
    "dynamodb_pitr_gb_month",
    "s3_put",
    "s3_get",
    "s3_gb_month",
    "logs_gb",
    "logs_gb_month",
    "alarm_month",
    "custom_metric_month",
    "secret_month",
    "egress_gb",
    "fargate_vcpu_hour",
    "fargate_gb_hour",
    "alb_hour",
    "lcu_hour",
    "ipv4_hour",
    "postgres_micro_hour",
    "postgres_medium_hour",
    "postgres_vcpu_hour",
    "postgres_gb_month",
]


class UnknownRegion(ValueError):
    """There are no prices of this region."""


class Price(BaseModel):
    """Dollars a unit: the same for all (`usd`), or by the quantity of a month (`tiers`: up to so much in all, so many dollars a unit)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    usd: float | None = Field(default=None, ge=0)
    tiers: tuple[tuple[float | None, float], ...] = ()
    unit: str
    date: str = Field(pattern=r"^\d{4}-\d{2}(-\d{2})?$")
    basis: str
    source: str
    note: str = ""

    @model_validator(mode="after")
    def _says_how_much(self) -> Price:
        if (self.usd is None) == (not self.tiers):
            raise ValueError("a price has either usd or tiers")
        bounds = [float("inf") if bound is None else bound for bound, _ in self.tiers]
        if self.tiers and (bounds != sorted(set(bounds)) or bounds[-1] != float("inf") or min(usd for _, usd in self.tiers) < 0):
            raise ValueError("tiers rise, the last one has no end (null), and none is negative")
        return self

    def of(self, quantity: float) -> float:
        """Dollars of so many units in a month."""
        if self.usd is not None:
            return self.usd * quantity
        total, below = 0.0, 0.0
        for bound, usd in self.tiers:
            top = quantity if bound is None else min(quantity, bound)
            total += max(0.0, top - below) * usd
            below = top
        return total


class Prices(BaseModel):
    """Of one region."""

    model_config = ConfigDict(frozen=True)

    region: str
    by_name: Mapping[Name, Price]

    def of(self, name: Name, quantity: float) -> float:
        """Dollars of so many units of it in a month."""
        return self.by_name[name].of(quantity)

    @property
    def dates(self) -> tuple[str, str]:
        """Of the oldest and of the newest price."""
        found = sorted(price.date for price in self.by_name.values())
        return found[0], found[-1]

    def replaced(self, given: Mapping[str, Any]) -> Prices:
        """With other prices, by name: dollars a unit, or a whole entry as in `prices.json`. Raises `ValueError`."""
        found: dict[str, Any] = {name: price.model_dump(exclude_none=True) for name, price in self.by_name.items()}
        for name, new in given.items():
            if name not in found:
                raise ValueError(f"{name!r} is no price; there are {', '.join(found)}")
            found[name] = _given(found[name], new)
        return Prices.model_validate({"region": self.region, "by_name": found})


def _given(old: Mapping[str, Any], new: Any) -> Mapping[str, Any]:
    if isinstance(new, Mapping):
        kept = {key: value for key, value in old.items() if key not in ("usd", "tiers")}
        return {**kept, "basis": "given by the user", **new}
    return {"usd": new, "unit": old["unit"], "date": old["date"], "basis": "given by the user", "source": old["source"]}


@cache
def _file() -> Mapping[str, Any]:
    """Cached: a file of the package."""
    found: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def regions() -> tuple[str, ...]:
    """That there are prices of."""
    return tuple(_file()["regions"])


def prices_of(region: str) -> Prices:
    """Raises `UnknownRegion`."""
    if region not in regions():
        raise UnknownRegion(f"there are no prices of {region!r}; there are those of {', '.join(regions())}")
    return Prices.model_validate({"region": region, "by_name": _file()["regions"][region]})
