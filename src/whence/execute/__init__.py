"""Run: the only room that touches the world, and only for what the gate admitted."""
