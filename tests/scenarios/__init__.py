"""Conversations from end to end, each kept as a story in `tests/golden`. `python -m tests.scenarios` shows what every client says."""
