"""What happens in the runs of this process while it happens: pieces of text and output, and that the journal
has grown. Nothing of it is kept; what has to last stands in the journal.

A text that comes in pieces, told without secrets (LRN-8) also where one is cut in two by the pieces.

The end of what has come is held back until more of it has: so much, or so long, and no longer. What was told
is kept for a while beside what comes, for a secret is known by the name before it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import field

from runlore.domain import limits
from runlore.domain.guard import secret_spans
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.ports import operations as ops

HELD_CHARS = 160
# Looked at only where so much more has come: most pieces are a word.
_DUE_CHARS = 2 * HELD_CHARS
# A word goes on for as long as this at most before it is told all the same.
_WORD_CHARS_MAX = 4_096
# How old the held end may become before its whole words are told, and how long a silence ends it.
AGE_S, SILENCE_S = 0.3, 1.0
_CONTEXT_CHARS = 512
# An armoured key is long, and is told by its first line.
_ARMOUR, _ARMOUR_CHARS_MAX = "-----BEGIN", 8_192


class StreamRedactor:
    """One text, from its first piece on."""

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        # What has come and is still looked at, how much of it was told, and how much of that as a marker.
        self._known = ""
        self._told = 0
        self._marked = 0
        self._held_since = 0.0
        self._latest_at = 0.0

    @property
    def is_held(self) -> bool:
        return len(self._known) > self._told

    def add(self, piece: str) -> str:
        now = self._elapsed()
        if not self.is_held:
            self._held_since = now
        self._latest_at = now
        self._known += piece
        if len(self._known) - self._told > _DUE_CHARS:
            return self._tell(self._boundary(len(self._known) - HELD_CHARS))
        return self.flush_due()

    def flush_due(self) -> str:
        now = self._elapsed()
        if not self.is_held:
            return ""
        if now - self._latest_at >= SILENCE_S:
            return self._tell(len(self._known))
        if now - self._held_since >= AGE_S:
            return self._tell(self._boundary(len(self._known)))
        return ""

    def rest(self) -> str:
        text = self._tell(len(self._known))
        self._known, self._told, self._marked = "", 0, 0
        return text

    def _boundary(self, end: int) -> int:
        """The end of the last whole word before a place; in the middle of a word that has no end."""
        place = max(self._known.rfind(space, self._told, end) for space in " \n\t") + 1
        if place <= 0:
            place = self._told
        is_endless = len(self._known) - place > _WORD_CHARS_MAX
        return max(place, end - HELD_CHARS) if is_endless else place

    def _tell(self, end: int) -> str:
        if end <= self._told:
            return ""
        parts: list[str] = []
        at = self._told
        for span in secret_spans(self._known):
            if span.end <= at:
                continue
            if span.start >= end:
                break
            parts.append(self._known[at : max(at, span.start)])
            # What goes on where a marker was told already needs no second one.
            if span.start >= self._marked:
                parts.append(f"<redacted:{span.rule}>")
            at = self._marked = span.end
        parts.append(self._known[at : max(at, end)])
        self._told = max(at, end)
        self._held_since = self._latest_at
        # Let go of what nothing that comes can belong to.
        armour = self._known.rfind(_ARMOUR, max(0, self._told - _ARMOUR_CHARS_MAX), self._told)
        gone = max(0, self._told - _CONTEXT_CHARS if armour < 0 else min(armour, self._told - _CONTEXT_CHARS))
        self._known = self._known[gone:]
        self._told -= gone
        self._marked = max(0, self._marked - gone)
        return "".join(parts)


_CUT = "\n[more is told when the call has ended]\n"


@dataclass(frozen=True, kw_only=True)
class LiveEvents:
    """What has happened since a place: the events, the place behind them, and whether that was all."""

    events: tuple[ops.RunEvent, ...] = ()
    place: int = 0
    is_over: bool = False


class Live:
    """One run as it goes on, for any number of followers. Its latest events are kept, so many at most.

    That the journal has grown is an event without data, with the number up to which it has: whoever reads the
    journal up to there hears everything in its order.
    """

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._changed = threading.Condition()
        self._elapsed = elapsed
        self._events: deque[ops.RunEvent] = deque()
        self._chars = 0
        self._first = 0
        self._grown = 0
        self._numbered = 0
        self._is_over = False
        # Words that are held back for a moment, and whose they are: the model's, or those of a call.
        self._trickle = StreamRedactor(elapsed)
        self._whose: str | None = None
        self._printed = 0
        # The last words of a run of which nothing is stored.
        self.answer = ""

    @property
    def is_over(self) -> bool:
        return self._is_over

    def text(self, piece: str) -> None:
        with self._changed:
            self._speaks(None)
            self._say(self._trickle.add(piece))

    def output(self, call_id: str, piece: str) -> None:
        """A piece of what a command prints; the rest of what is very much is told with the call's answer."""
        with self._changed:
            self._speaks(call_id)
            left = limits.LIVE_OUTPUT_CHARS_MAX - self._printed
            if left > 0:
                self._say(self._trickle.add(piece[:left]))
                if len(piece) > left:
                    self._say(self._trickle.rest() + _CUT)
            self._printed += len(piece)

    def remark(self, remark: str) -> None:
        self._tell(ops.RunEvent(kind=ops.RunEventKind.REMARK, data={"text": remark}))

    def approval(self, told: JsonObject) -> None:
        self._tell(ops.RunEvent(kind=ops.RunEventKind.APPROVAL, data=told))

    def grew(self, number: int) -> None:
        with self._changed:
            self._grown = max(self._grown, number)
            self._tell(_growth(self._grown))

    def add_event(self, told: JsonObject, *, numbered: bool) -> None:
        """An event that is stored nowhere; where nothing of the run is, it gets a number of the run's own."""
        with self._changed:
            self._numbered += numbered
            number = self._numbered if numbered else 0
            self._tell(
                ops.RunEvent(kind=ops.RunEventKind.JOURNAL, data={**told, "number": number}, number=number)
            )

    def end(self) -> None:
        """Nothing comes any more; a second time does nothing."""
        with self._changed:
            self._say(self._trickle.rest())
            self._is_over = True
            self._changed.notify_all()

    def now(self) -> tuple[int, int]:
        """The place from which on the words are told that no journal has yet, and how far the journal had
        grown there."""
        with self._changed:
            return self._behind_growth(), self._grown

    def since(self, place: int, timeout_s: float) -> LiveEvents:
        """What has happened since a place, waited for at most so long. Who is too slow misses words, and
        goes on where the journal ends."""
        until = self._elapsed() + timeout_s
        with self._changed:
            while place >= self._end() and not self._is_over:
                self._say(self._trickle.flush_due())
                left = until - self._elapsed()
                if place < self._end() or left <= 0:
                    break
                self._changed.wait(min(left, AGE_S) if self._trickle.is_held else left)
            events = tuple(self._events)
            if place < self._first and self._grown:
                kept = events[self._behind_growth() - self._first :]
                events = (_growth(self._grown), *kept)
            else:
                events = events[max(0, place - self._first) :]
            return LiveEvents(events=events, place=self._end(), is_over=self._is_over)

    def wait(self, timeout_s: float | None = None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._is_over, timeout_s)

    def _end(self) -> int:
        return self._first + len(self._events)

    def _behind_growth(self) -> int:
        kept = list(self._events)
        journalled = [at for at, event in enumerate(kept) if event.kind is ops.RunEventKind.JOURNAL]
        return self._first + (journalled[-1] + 1 if journalled else 0)

    def _speaks(self, call_id: str | None) -> None:
        """Whose words come now: those of anybody else are told first."""
        if call_id != self._whose:
            self._say(self._trickle.rest())
            self._whose, self._printed = call_id, 0

    def _say(self, text: str) -> None:
        if not text:
            return
        if self._whose is None:
            self._put(ops.RunEvent(kind=ops.RunEventKind.TEXT, data={"text": text}))
        else:
            self._put(ops.RunEvent(kind=ops.RunEventKind.OUTPUT, data={"call_id": self._whose, "text": text}))

    def _tell(self, event: ops.RunEvent) -> None:
        with self._changed:
            self._say(self._trickle.rest())
            self._put(event)

    def _put(self, event: ops.RunEvent) -> None:
        self._events.append(event)
        self._chars += _chars(event)
        while len(self._events) > limits.LIVE_EVENTS_MAX or self._chars > limits.LIVE_CHARS_MAX:
            if len(self._events) == 1:
                break
            self._chars -= _chars(self._events.popleft())
            self._first += 1
        self._changed.notify_all()


def is_growth(event: ops.RunEvent) -> bool:
    """Whether an event says that there is more in the journal, up to its number."""
    return event.kind is ops.RunEventKind.JOURNAL and not event.data


def _growth(number: int) -> ops.RunEvent:
    return ops.RunEvent(kind=ops.RunEventKind.JOURNAL, data={}, number=number)


def _chars(event: ops.RunEvent) -> int:
    return sum(len(value) for value in event.data.values() if isinstance(value, str))


@dataclass
class Hub:
    """The runs of this process that can be followed as they go on, and a few that have ended."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _lives: OrderedDict[RunId, Live] = field(default_factory=OrderedDict)

    def begin(self, run_id: RunId) -> Live:
        live = Live()
        with self._lock:
            self._lives[run_id] = live
            over = [name for name, each in self._lives.items() if each.is_over]
            for name in over[: max(0, len(over) - limits.LIVE_ENDED_MAX)]:
                del self._lives[name]
        return live

    def find(self, run_id: RunId) -> Live | None:
        with self._lock:
            return self._lives.get(run_id)
