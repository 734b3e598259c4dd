"""Earlier runs of a conversation that capture never comes to, because there was nothing to do about them.

Where their words come from is read from their journals whenever a later run is captured. What was found is
noted with that, so that it is read once and stays known when the journals are gone.
"""

from collections.abc import Iterable, Iterator

from runlore.domain.policies.learning_policy import OwnWords
from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.run import MemoryState, Run
from runlore.flow.capture.provenance import missing_from, run_provenance
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.policies import learning_then
from runlore.ports.store import Collections, Transaction

# How many are noted with one capture; the next one goes on.
NOTED_MAX = 64


def find_uncaptured(collections: Collections, run: Run, beat: Beat = skip_beat) -> tuple[Capture, ...]:
    """What can be noted of the runs in a run's conversation that nobody will come to."""
    missing = [run_id for run_id in missing_from(collections, run) if run_id != run.run_id]
    noted = collections.captures.get_many(missing)
    waiting = [run_id for run_id in missing if run_id not in noted][:NOTED_MAX]
    found = collections.runs.get_many(waiting)
    return tuple(
        Capture(
            run_id=each.run_id,
            session_id=each.session_id,
            opened_at=each.opened_at,
            state=CaptureState.SKIPPED,
            provenance=run_provenance(collections, each, beat),
        )
        for each in _iterate_unclaimed(collections, found.values())
    )


def note_unlooked(tx: Transaction, found: tuple[Capture, ...]) -> None:
    """Note them, but for those that somebody has noted meanwhile. The caller has the session's turn."""
    known = tx.captures.get_many([capture.run_id for capture in found])
    for capture in found:
        if capture.run_id not in known:
            tx.captures.put(capture)


def _iterate_unclaimed(collections: Collections, runs: Iterable[Run]) -> Iterator[Run]:
    """Those that ended when capture had nothing to do, and that nobody has asked for since."""
    for run in runs:
        if run.finished_at is None or run.memory is MemoryState.FORGOTTEN:
            continue
        then = learning_then(collections, run.finished_at).capture
        pointer = collections.pointers.get_many([run.run_id]).get(run.run_id)
        is_asked_for = pointer is not None and pointer.capture is CaptureState.PENDING
        is_asked = then.run_summary_candidates or then.semantic_candidates.enabled
        is_due = not run.imported and (is_asked or then.own_words is OwnWords.PROPOSE)
        if not (is_due or is_asked_for):
            yield run
