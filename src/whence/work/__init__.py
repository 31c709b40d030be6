"""What built-in tools really do, once each, through ports."""
