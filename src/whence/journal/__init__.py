"""Remember: events to bytes on disk and back. Append only, hash chained."""
