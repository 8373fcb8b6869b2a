"""Attributes that are computed at their first use, and also work in a forked child.

`functools.cached_property` holds a lock of the class while it computes, up to Python 3.11: a child
that is forked meanwhile waits for it forever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["once"]

T = TypeVar("T")


class once(Generic[T]):
    """A property that is computed once per object.  Concurrent threads may compute it twice.

    >>> class Circle:
    ...     @once
    ...     def area(self) -> float:
    ...         print("computed")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (3.14, 3.14)
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self._name = make, make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object, owner: type | None = None) -> Self | T:
        if instance is None:
            return self
        # What is in the object's own dictionary hides this from the next look.
        made: T = instance.__dict__.setdefault(self._name, self._make(instance))
        return made
