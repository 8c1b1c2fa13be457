"""ASGI ⇄ Lambda response streaming: a runtime of our own, in plain Python. It knows nothing of agents or stores.

`python -m functions.runtime` serves the app that `$_HANDLER` names; `bootstrap` makes Lambda's managed Python start it.
"""

from functions.runtime.events import BadRequest, NotHttpEvent, asgi_scope
from functions.runtime.loop import serve

__all__ = ["BadRequest", "NotHttpEvent", "asgi_scope", "serve"]
