"""editorChat: talks about a document, and rewrites it when asked to."""
