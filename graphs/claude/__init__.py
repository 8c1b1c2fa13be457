"""claudeAgent: the Claude Agent SDK as one node. The SDK is an extra, imported when the node runs."""
