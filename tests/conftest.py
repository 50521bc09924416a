"""What every room's tests may ask for."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from softmargin.policy import POLICY


@pytest.fixture
def set_policy() -> Iterator[Callable[..., None]]:
    """Change constants of the default policy for one test: ``set_policy("size", sparse_above=250)``.

    The record is frozen and shared by reference, so its fields are changed in place and put back afterwards.
    """
    before: list[tuple[Any, str, Any]] = []

    def change(part: str, **values: Any) -> None:
        record = getattr(POLICY, part)
        for name, value in values.items():
            before.append((record, name, getattr(record, name)))
            object.__setattr__(record, name, value)

    yield change
    for record, name, value in reversed(before):
        object.__setattr__(record, name, value)
