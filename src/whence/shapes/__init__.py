"""Nouns: frozen values that cross every wall. Standard library only, no I/O."""
