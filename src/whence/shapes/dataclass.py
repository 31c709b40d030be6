"""`dataclass`, as the standard library has it, at a tenth of the cost of defining a class.

The standard one compiles six methods for each frozen class, which was a quarter of the time that a
command took to start. Here frozen classes share all of them but `__init__`, and that is compiled
when the first value is made. Fields, `replace` and everything else are the standard library's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """The decorator; what is not frozen and slotted is left to the standard library."""
    if cls is not None or not (options.get("frozen") and options.get("slots")):
        decorate = dataclasses.dataclass(**options)
        return decorate(cls) if cls is not None else decorate
    return lambda made: _frozen(made, eq=options.get("eq", True), repr=options.get("repr", True))


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _frozen(cls: type, *, eq: bool, repr: bool) -> type:
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__dataclass_params__.frozen = True

    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _compiled(made)
        made.__init__(self, *args, **kwargs)

    made.__init__ = first
    made.__setattr__ = made.__delattr__ = _refuse
    made.__getstate__, made.__setstate__ = _state, _restore
    if repr:
        made.__repr__ = _shown
    if eq:
        made.__eq__, made.__hash__ = _equal, _hash
    return made  # type: ignore[no-any-return]


def _compiled(cls: Any) -> Callable[..., None]:
    """The `__init__` that the standard library would have made."""
    names, lines = ["self"], ["pass"]
    scope: dict[str, Any] = {"_missing": dataclasses.MISSING}
    for field in dataclasses.fields(cls):
        name = field.name
        scope[f"_set_{name}"] = getattr(cls, name).__set__
        if field.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = field.default
            names.append(f"{name}=_default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = field.default_factory
            names.append(f"{name}=_missing")
            lines.append(f"if {name} is _missing: {name} = _make_{name}()")
        else:
            names.append(name)
        lines.append(f"_set_{name}(self, {name})")
    body = "\n ".join(lines)
    exec(f"def __init__({', '.join(names)}):\n {body}", scope)  # noqa: S102 - our own names only
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


@cache
def _compared(cls: Any) -> Callable[[Any], Any]:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    return attrgetter(*names) if names else type


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = _compared(self.__class__)
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(_compared(self.__class__)(self))


def _shown(self: Any) -> str:
    shown = [field.name for field in dataclasses.fields(self) if field.repr]
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{self.__class__.__qualname__}({values})"


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
