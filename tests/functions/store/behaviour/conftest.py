"""The behaviours are asserted outside of test modules: their values are shown when one fails all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite(
    *(f"{__package__}.{file.stem}" for file in Path(__file__).parent.glob("[a-z]*.py") if file.stem != "conftest")
)
