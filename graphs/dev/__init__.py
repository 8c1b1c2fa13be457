"""dev: every kind of interrupt in one conversation; its main path needs no model."""
