"""The embedded model, as the loop sees it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from whence.declare.toolbox import Toolbox
from whence.errors import NotFound, Unavailable
from whence.provider.exchange import Settings
from whence.provider.local import weights
from whence.provider.local.conversation import ID, LocalConversation
from whence.provider.local.engine import Engine, problem
from whence.provider.local.fill import EXAMPLES


def open_local(name: str = "", environ: Mapping[str, str] = os.environ) -> LocalModel:
    """The embedded model; nothing is loaded before its first answer.

    Raises:
        NotFound: there is no embedded model of that name.
        Unavailable: its packages or its weights are not installed.
    """
    if name not in ("", ID.partition("/")[2]):
        raise NotFound(f"there is no embedded model {name!r}", f"Use {ID}.")
    place = weights.directory(environ)
    found = problem(place)
    if found is not None:
        raise Unavailable(*found, details={"model": ID})
    return LocalModel(Engine(EXAMPLES, place))


class LocalModel:
    """Two small networks on this machine: no key, no network, no words of their own."""

    cautious = True
    """It is wrong often enough that whatever does more than read should ask first."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def id(self) -> str:
        """`local/smollm2`."""
        return ID

    def converse(
        self, settings: Settings, tools: Toolbox, *, xml: bool = False
    ) -> LocalConversation:
        """Begin a conversation; calls are values here, however they travel elsewhere."""
        return LocalConversation(tools, self._engine, settings.tool_choice)

    async def aclose(self) -> None:
        """End the process that holds the networks."""
        await self._engine.aclose()
