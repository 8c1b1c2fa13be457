"""writer: rewrites a selection or a whole document in Chinese."""
