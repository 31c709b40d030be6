"""What to say when the libraries for web pages are not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whence.errors import Unavailable


@contextmanager
def web_extra() -> Iterator[None]:
    """Turns a failed import inside it into an error that names the extra.

    Raises:
        Unavailable: A library is missing.
    """
    try:
        yield
    except ImportError as error:
        raise Unavailable(
            f"reading web pages needs {error.name}, which is not installed",
            "Install the extra: pip install whence[web]",
            recoverable=False,
        ) from error
