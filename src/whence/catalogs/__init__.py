"""The faces that models see: names, schemas and output forms. No logic."""
