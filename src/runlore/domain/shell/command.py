"""One simple command of a script: its program, its arguments without their quotes, and where it stands."""

from typing import NamedTuple

from runlore.domain.lazy import dataclass

HERE = frozenset({"<<", "<<<"})
_WRITING = frozenset({">", ">>", "&>", "&>>", ">|", ">&"})
_READING = frozenset({"<", "<>", "<&"})


class Redirect(NamedTuple):
    """An operator and what it names: a file, a descriptor, or (`<<`, `<<<`) the text itself."""

    operator: str
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellCommand:
    """A program and what it is called with.

    `wrappers` are the programs that it is called through (`sudo`, `env`, `bash`), the outermost first.
    `pipeline` counts the pipelines of the script, and `place` says where in its pipeline the command stands.
    `text` is the command as it is written, for a command inside `bash -c` that of the inner script.
    """

    program: str
    arguments: tuple[str, ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    wrappers: tuple[str, ...] = ()
    text: str = ""
    pipeline: int = 0
    place: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        return (self.program, *self.arguments)

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(target for operator, target in self.redirects if operator in _READING)

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(target for operator, target in self.redirects if operator in _WRITING)

    @property
    def stdin_text(self) -> str:
        """The text that stands in the script as its input (a heredoc or a here-string)."""
        return "\n".join(target for operator, target in self.redirects if operator in HERE)
