"""Editing engines: pure functions from text and a change to new text."""
