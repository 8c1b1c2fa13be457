"""`python -m tests.abuse` prints this matrix."""

from __future__ import annotations

import httpx
import pytest

from tests.abuse.attacks import ATTACKS, harmless
from tests.abuse.ground import SECRET, ground


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ATTACKS)
async def test_attacks_are_held(name: str, moto_endpoint: str) -> None:
    """As the attack's docstring says; each of them asserts what must come instead."""
    with ground(moto_endpoint) as place:
        assert await ATTACKS[name](place)


@pytest.mark.parametrize("answer", [(500, "x"), (200, SECRET), (404, "Traceback (most recent call last)")])
def test_what_is_not_harmless_is_found(answer: tuple[int, str]) -> None:
    with pytest.raises(AssertionError):
        harmless(httpx.Response(answer[0], text=answer[1]))
