"""The offline model: scripted, without key or network, so that every agent can be tried at once.

An agent's own way is a script beside its graph (`AgentSpec.script`), what all agents can do is in `graphs.offline.rules`.
"""

from graphs.offline.conversation import Call, Conversation, Script, calling, thoughtful
from graphs.offline.model import OFFLINE, OfflineModel
from graphs.offline.rules import OfflineFailure

__all__ = ["OFFLINE", "Call", "Conversation", "OfflineFailure", "OfflineModel", "Script", "calling", "thoughtful"]
