"""AWS's Runtime Interface Emulator is a Linux binary: elsewhere its tests are not collected (nothing else stays away)."""

from __future__ import annotations

from tests.support import rie

collect_ignore = [] if rie.AVAILABLE else ["test_rie.py"]
