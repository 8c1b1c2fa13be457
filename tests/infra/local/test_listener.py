"""The front's port."""

from __future__ import annotations

import re

import pytest

from infra.local.listener import PortInUse, bind


def test_a_port_in_use_says_which_to_take() -> None:
    """The message names the flag and a port that is free."""
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse) as refused:
            bind("127.0.0.1", port)
        match = re.fullmatch(rf"Port {port} is in use\. Try: agents dev --port (\d+)", str(refused.value))
        assert match
        bind("127.0.0.1", int(match[1])).close()


def test_only_this_machine_is_let_in() -> None:
    """The address is the one that was asked for, not every one of the machine."""
    with bind("127.0.0.1", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
