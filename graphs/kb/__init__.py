"""kb: answers from the knowledge base, with citations that were checked."""
