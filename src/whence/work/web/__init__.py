"""Web pages as text that a model can read."""
