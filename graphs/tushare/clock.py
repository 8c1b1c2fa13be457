"""What day it is where A-shares are traded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone

Clock = Callable[[], date]
_CHINA = timezone(timedelta(hours=8), "Asia/Shanghai")  # no daylight saving since 1991, so no time zone data is needed


def today_in_china() -> date:
    return datetime.now(_CHINA).date()
