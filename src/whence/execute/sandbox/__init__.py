"""Sandboxes: the walls around a program, kept by the kernel, and honest about their gaps."""
