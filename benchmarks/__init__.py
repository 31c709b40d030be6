"""What whence costs beside its floors and its peers: ratios, measured in one run.

A row is a module of this package with one function, `ratios()`, which yields what it measured, and
its name in `ROWS` of `__main__`. Nothing here asserts: a goal that is not met is printed as such.
"""
