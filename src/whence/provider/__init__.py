"""Conversion between items and the JSON or text of each provider; pure, without sockets."""
