"""The operations over HTTP beside the same ones from inside: what one answers, the other answers too."""

from collections.abc import Callable
from typing import Any

import pytest

from runlore.domain.errors import RunloreError
from runlore.ports import operations as ops


class Both:
    """The operations over HTTP beside the same ones from inside."""

    def __init__(self, remote: ops.Operations, inside: ops.Operations) -> None:
        self.remote = remote
        self.inside = inside
        self.called: set[str] = set()

    def do(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Over HTTP alone."""
        self.called.add(name)
        return getattr(self.remote, name)(*arguments, **named)

    def read(self, name: str, *arguments: Any, **named: Any) -> Any:
        """On both sides, with the same answer."""
        told = self.do(name, *arguments, **named)
        assert told == getattr(self.inside, name)(*arguments, **named), name
        return told

    def fail(self, name: str, *arguments: Any) -> RunloreError:
        """On both sides, with the same error."""
        there, here = (caught(getattr(side, name), *arguments) for side in (self.remote, self.inside))
        assert type(there) is type(here)
        assert (there.code, there.sentence, there.hint) == (here.code, here.sentence, here.hint)
        return there


def caught(operation: Callable[..., object], *arguments: Any) -> RunloreError:
    """The error that an operation ends with."""
    with pytest.raises(RunloreError) as failure:
        operation(*arguments)
    return failure.value
