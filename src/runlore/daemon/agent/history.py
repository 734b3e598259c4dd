"""What a model is told of a session's earlier inputs: what was asked and what came of it, the newest of it.

Calls and what they printed are left out: a call without its answer is no conversation to a provider, and the
words of both are in the answers where they mattered.
"""

from contextlib import suppress
from dataclasses import dataclass

from runlore.daemon.own_runs.conversations import conversation, shortened_text
from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, Message, UserSaid
from runlore.domain.errors import Corrupt
from runlore.domain.run import TERMINAL, MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.journal import EventType, text_of
from runlore.domain.session import Session
from runlore.ports.store import Collections

_CHECKPOINT = "What was said before, in short:\n"


@dataclass(frozen=True, kw_only=True)
class History:
    """A conversation so far, the oldest first, and the runs that it may tell of."""

    messages: tuple[Message, ...] = ()
    run_ids: tuple[RunId, ...] = ()

    def is_forgotten_by(self, collections: Collections) -> bool:
        """Whether something of it was forgotten since it was read."""
        runs = collections.runs.get_many(self.run_ids) if self.run_ids else {}
        return any(run.memory is MemoryState.FORGOTTEN for run in runs.values())


def history_of(
    collections: Collections, session: Session, *, tokens_max: int = limits.AGENT_HISTORY_TOKENS_MAX
) -> History:
    """The conversation so far, as much of its end as so many tokens hold."""
    runs = collections.runs.page(
        limit=limits.AGENT_HISTORY_RUNS_MAX, session_id=session.session_id, statuses=TERMINAL
    )
    since = session.checkpoint_number or 0
    asked = [run for run in runs if run.input_number > since and run.memory is not MemoryState.FORGOTTEN]
    run_ids = [run.run_id for run in asked]
    texts = collections.journal.inputs(run_ids)
    newest_first = ((texts.get(run.run_id, ""), _outcome(collections, run)) for run in asked)
    told = conversation(newest_first, tokens_max=tokens_max)
    return History(messages=(*_checkpoint(collections, session), *told), run_ids=tuple(run_ids))


def _outcome(collections: Collections, run: Run) -> str:
    said = ""
    with suppress(Corrupt):
        said = collections.journal.latest_text(run.run_id).strip()
    ended = f"(This ended as {run.status}.)"
    if run.status is RunStatus.COMPLETED:
        return said or ended
    return f"{said}\n{ended}".strip()


def _checkpoint(collections: Collections, session: Session) -> tuple[Message, ...]:
    number = session.checkpoint_number
    if number is None:
        return ()
    with suppress(Corrupt):
        for event in collections.journal.range(session.session_id, number, number):
            text = text_of(event.body).strip()
            if event.type is EventType.CHECKPOINT and text:
                return (
                    UserSaid(text=_CHECKPOINT + shortened_text(text)),
                    AssistantSaid(text="I have read it."),
                )
    return ()
