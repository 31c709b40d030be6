"""Code and commands of a model, each run in the sandbox: terminal, Python, JavaScript."""
