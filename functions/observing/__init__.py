"""What an operator sees of a run: log lines that carry its ids, one set of metrics, traces that are out before the environment freezes.

`middleware` wraps the app in `functions.entry`; without it (a graph of one's own under another server) nothing here does anything.
"""
