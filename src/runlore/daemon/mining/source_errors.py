"""A mistake of Runlore's own in one source is that source's problem: it is told, and the others go on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runlore.domain.errors import Invalid, RunloreError
from runlore.domain.runs.transcript import mishap


@contextmanager
def isolate_errors(note: Callable[[str], None]) -> Iterator[None]:
    """Note what goes wrong instead of raising it. That a store is not there, or refuses, is
    no matter of one source."""
    try:
        yield
    except Invalid as error:
        note(f"Runlore cannot take what is here: {error.code}")
    except RunloreError:
        raise
    except Exception as error:
        # The outer loop over strangers' files: what nobody foresaw in one of them keeps none of the others.
        note(mishap(error))
