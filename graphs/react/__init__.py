"""reactAgent: a tool loop over the knowledge base and the four ask tools."""
