"""The embedded model: chooses a tool, fills its arguments from the request, quotes what came of it.

Two small networks do the work, in a process of their own: MiniLM says how near two texts are,
SmolLM2 picks words under a grammar. Everything else here is plain text work.
"""
