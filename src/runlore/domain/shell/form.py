"""What the normal form knows of one program: its subcommands, and which of its flags take a value.

A flag's value goes with the flag; a flag that no table names stays. Flags of one subcommand alone stand under
it, for the same letter means different things: `docker build -t` takes a name, `docker run -t` takes nothing.
"""

from collections.abc import Mapping
from dataclasses import field

from runlore.domain.lazy import dataclass


@dataclass(frozen=True, kw_only=True)
class Form:
    """How one program's words are read.

    `subcommands` is how many plain words belong to the form; the words in `nested` have one more behind them,
    and what stands behind a word in `runs` is a command of its own. `joined` says that short flags without a
    value may stand together (`-rf`). `modules` are flags whose value tells what is done (`python -m pytest`).
    """

    subcommands: int = 0
    values: frozenset[str] = frozenset()
    values_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    nested: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    joined: bool = True


def form(
    subcommands: int = 0,
    values: str = "",
    *,
    of: Mapping[str, str] | None = None,
    nested: str = "",
    runs: str = "",
    modules: str = "",
    joined: bool = True,
) -> Form:
    """A row of a table, its words written in one line each."""
    return Form(
        subcommands=subcommands,
        values=_words(values),
        values_of={name: _words(flags) for name, flags in (of or {}).items()},
        nested=_words(nested),
        runs=_words(runs),
        modules=_words(modules),
        joined=joined,
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())
