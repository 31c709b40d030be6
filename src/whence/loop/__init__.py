"""Turn: the only place with the whole picture; it wires the other rooms together."""
