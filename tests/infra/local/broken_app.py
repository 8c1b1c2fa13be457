"""A function whose import fails."""

raise RuntimeError("this module cannot be imported")
