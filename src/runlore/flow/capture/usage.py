"""What reported usage says about our estimates: the tokens of a model's text, told and estimated."""

from collections.abc import Iterable, Sequence

from runlore.domain.prompts.projection import ModelFamily
from runlore.domain.prompts.token_budget import estimate, estimated_counter, family_of, reported_counter
from runlore.domain.record import JsonObject
from runlore.domain.run import Run
from runlore.domain.runs.journal import Entry, EventType, JournalEvent, text_of
from runlore.ports.store import Transaction

# How far back the text of a usage event is looked for. What lies further back teaches nothing.
_LOOKED_BACK = 32
_FAR_OFF = 8


def usage_counters(
    tx: Transaction, run: Run, entries: Sequence[Entry], *, first: int, families: Sequence[ModelFamily]
) -> dict[str, int]:
    """What to add to the totals of each model family, for entries whose first number is `first`."""
    texts: list[str] | None = []
    is_first = True
    totals: dict[str, int] = {}
    for entry in entries:
        if entry.type is EventType.USAGE:
            named = entry.body.get("model")
            family = family_of(named if isinstance(named, str) else run.model, families)
            if family is not None and texts is not None:
                # What was appended before is read only for a report that teaches something.
                before = _texts_before(tx, run, first) if is_first else []
                if before is not None:
                    _learn(totals, entry.body, [*before, *texts], family)
            texts, is_first = [], False
        elif entry.type is EventType.ASSISTANT_MESSAGE and texts is not None:
            texts.append(text_of(entry.body))
        elif entry.type is EventType.TOOL_CALL:
            texts = None
    return totals


def _texts_before(tx: Transaction, run: Run, first: int) -> list[str] | None:
    start = max(run.input_number, first - _LOOKED_BACK)
    before = tx.journal.page(session_id=run.session_id, after=start - 1, limit=first - start)
    if not before or before[-1].number != first - 1:
        # They are too large to be read for this.
        return None
    return _texts_since_usage(event for event in reversed(before) if event.run_id == run.run_id)


def _texts_since_usage(backwards: Iterable[JournalEvent]) -> list[str] | None:
    """The agent's texts since its usage was told last; None where that cannot be told.

    Tokens of tool calls are in the report and not in the texts: such a report teaches nothing.
    """
    texts: list[str] = []
    for event in backwards:
        if event.type in (EventType.USAGE, EventType.INPUT):
            return texts
        if event.type is EventType.TOOL_CALL:
            return None
        if event.type is EventType.ASSISTANT_MESSAGE:
            texts.append(text_of(event.body))
    return None


def _learn(totals: dict[str, int], usage: JsonObject, texts: list[str], family: ModelFamily) -> None:
    reported, estimated = usage.get("output_tokens"), sum(map(estimate, texts))
    if isinstance(reported, bool) or not isinstance(reported, int):
        return
    # What is so far off counts something else, and one such report would spoil the sum for good.
    if not estimated <= reported * _FAR_OFF <= estimated * _FAR_OFF**2 or not estimated:
        return
    for name, amount in (
        (reported_counter(family.name), reported),
        (estimated_counter(family.name), estimated),
    ):
        totals[name] = totals.get(name, 0) + amount
