"""Beginning a run of Runlore's own agent. What works it is loaded with the first of them: most commands begin
none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runlore.daemon.calls.idempotency import Call
from runlore.domain.lazy import dataclass
from runlore.domain.session import Session

if TYPE_CHECKING:
    from runlore.domain.run import RunId
    from runlore.ports.operations import NewInput, RunView


@dataclass(frozen=True, kw_only=True)
class SkillTrial:
    """A promoted skill to be tried once: with which words, by which call, where and for whom.

    It is for a `session`, or in `own`, one that is made for it.
    """

    name: str
    arguments: str
    call: Call
    folder: str
    session: Session | None = None
    own: Session | None = None


class Beginning(Protocol):
    """Begins runs that this process works, for one caller."""

    def begin(self, request: NewInput) -> RunView:
        """Open the run of an input, and begin to work it."""

    def begin_trial(self, trial: SkillTrial) -> RunId:
        """Begin a trial of a promoted skill; the run that executes it."""
