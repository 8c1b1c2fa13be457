"""An event that the function sends to itself. A function URL, an API and a load balancer wrap what their callers send, so that nobody who
calls the agent can make one; `lambda:InvokeFunction` can, which the function's own role alone is given by the stack."""

from __future__ import annotations

KEY = "agentFunctions"
"""The event is an object with this key alone."""
PATH = "/.own"
"""Where the runtime hands it to the app; a request from outside finds nothing there."""
SCOPE = "agents.own"
"""The event in the ASGI scope, which is made by the runtime alone."""
