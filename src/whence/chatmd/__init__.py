"""Parse: agent text to a document and back. Knows no tools."""
