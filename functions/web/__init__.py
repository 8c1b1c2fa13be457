"""The HTTP surface of one agent. `create_app` is the way in."""

from functions.web.app import create_app

__all__ = ["create_app"]
