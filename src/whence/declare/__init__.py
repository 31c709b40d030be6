"""Declare: what a document, a function or a catalog offers, as one toolbox. Makes no call."""
