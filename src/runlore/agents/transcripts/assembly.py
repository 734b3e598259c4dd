"""Runs out of what a reader tells, thing by thing, in the order of the transcript.

A reader says which session it speaks of, then `begin` for each input of the user and `add` for what follows.
Here runs get their ordinals and numbers, are kept bounded, and get the position from which reading goes on.

A transcript may hold several sessions in turn (resumed, forked), and beside its main line the sessions of
subagents, interleaved with it. Positions are only where no run is open: at an input of the main line. So the
runs of one turn are handed over together, and only the last of them moves the position: whoever stops between
them gets all of them again, the same.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

import orjson

from runlore.agents.transcripts.parsing import bound_arguments, bound_value, moment, shorten, size_of
from runlore.domain import limits
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import ANOTHER_AGENT, WORDS_OF, Entry, EventType
from runlore.domain.runs.transcript import (
    SETTLED_AFTER,
    START,
    Position,
    ReadCounts,
    ToldEvent,
    ToldRun,
    TranscriptAgent,
)
from runlore.domain.text.safe_text import is_storable, make_storable

RUN_TOO_LONG = "a run that is too long"
# What something from outside is called whose text is not told.
MORE_THAN_IS_READ = "more of a run than is read"
EARLIER_CONVERSATION = "an earlier conversation"
SUMMARY = "a summary of an earlier conversation"

# A session begins with its binding.
_FIRST_NUMBER = 2
_LANES_CARRIED_MAX = 64
_FACTS = ("folder", "branch", "model", "agent_version")
# What people named. A position says only which it was: `recalling` finds it in the transcript again.
HIDDEN_FACTS = ("folder", "branch")
_MIXED = "folders"
_EVENTS_MAX, _BYTES_MAX = limits.TOLD_RUN_EVENTS_MAX, limits.TOLD_RUN_BYTES_MAX
# What an event takes at most where it is sent: its names, and for each character of its texts.
_EVENT_BYTES, _CHARACTER_BYTES = 3_000, 6
_TYPE_AND_TIME_BYTES = 120
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,199}")
# Members of an enumeration are slow to reach, and this is asked for every event.
_COMPLETED = RunStatus.COMPLETED
_MESSAGE, _CALL, _RESULT = EventType.ASSISTANT_MESSAGE, EventType.TOOL_CALL, EventType.TOOL_RESULT
_ID_CHARS_MAX = limits.ID_CHARS_MAX
_FACT_CHARS_MAX = {
    "folder": limits.PATH_CHARS_MAX,
    "branch": limits.TITLE_CHARS_MAX,
    "model": limits.MODEL_CHARS_MAX,
    "agent_version": limits.ID_CHARS_MAX,
    "title": limits.TITLE_CHARS_MAX,
}
_RUNS, _NEXT, _OUTSIDE = "runs:", "next:", "outside:"
# No call has this id: what it brings belongs to none.
_NO_CALL = "(no call)"
_CALLING = (_CALL, _RESULT)


class LinePosition(Protocol):
    """Where the thing that is being told stands, kept by whoever drives the reader."""

    @property
    def start(self) -> int: ...

    @property
    def number(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _Beginning:
    start: int
    number: int


@dataclass(slots=True)
class _OpenRun:
    session: str
    ordinal: int
    first_number: int
    folder: str
    branch: str
    agent_version: str
    parent: str = ""
    is_side: bool = False
    model: str = ""
    status: RunStatus = RunStatus.COMPLETED
    settles_after: timedelta = SETTLED_AFTER
    events: list[ToldEvent] = field(default_factory=list)
    outside: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Lane:
    """One session of the transcript: how many runs it has had, the next event's number, the open run. What
    came from `outside` before a run began is told with the next one."""

    runs: int = 0
    next_number: int = _FIRST_NUMBER
    run: _OpenRun | None = None
    outside: str = ""


def sent_bytes(body: JsonObject) -> int:
    try:
        return len(orjson.dumps(body, default=dict)) + _TYPE_AND_TIME_BYTES
    except TypeError:
        # No text at all: what stands for it is no longer.
        return len(repr(body)) * _CHARACTER_BYTES


def plain_id(text: str) -> str:
    """An id as a program makes one; of anything else, such as a path, no more than what identifies it."""
    return text if _PLAIN_ID.fullmatch(text) else digest_of(text)


def digest_of(text: str) -> str:
    """What identifies a text and says nothing of it."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


class Assembly:
    """The runs of one transcript. The reader lets it `know` the `folder`, `branch`, `model`, `agent_version`
    and `title`, and sets `parent` to the session that began the one which it speaks of. It keeps in `carried`
    what it has to know to go on from any input of the main line. Runs that have ended are in `ready` until
    they are taken. `otherwise` is the time of a run that tells none."""

    def __init__(
        self,
        agent: TranscriptAgent,
        counts: ReadCounts,
        start: Position = START,
        *,
        place: LinePosition | None = None,
        otherwise: datetime | None = None,
    ) -> None:
        self.folder = self.branch = self.model = self.agent_version = self.title = self.parent = ""
        self.carried: dict[str, str | int] = {}
        self.session = ""
        self._place: LinePosition = place or _Beginning(start.offset, start.line)
        self._agent = agent
        self._counts = counts
        self._lanes: dict[str, _Lane] = {}
        self._lane = _Lane()
        self._is_side = False
        self._turn: list[_OpenRun] = []
        self._events = self._bytes = 0
        self._is_measured = False
        self._had_folder: str | None = None
        self._is_mixed = False
        self._otherwise = otherwise
        self.ready: list[ToldRun] = []
        self._take_up(start.carried)
        self._cut = self._position()

    def speak_of(self, session: str, *, is_side: bool = False) -> None:
        """What is told from here on is of this session. A side line is a subagent's: its inputs end no run
        but its own."""
        if session == self.session and is_side == self._is_side and session in self._lanes:
            return
        session = plain_id(session)
        self.session, self._is_side = session, is_side
        # The one that was spoken of last stands last.
        lane = self._lanes.pop(session) if session in self._lanes else _Lane()
        self._lane = self._lanes[session] = lane

    @property
    def is_side(self) -> bool:
        return self._is_side

    @property
    def is_open(self) -> bool:
        return self._lane.run is not None

    @property
    def here(self) -> LinePosition:
        """Where the thing that is being told stands, to be kept for `begin`."""
        return _Beginning(self._place.start, self._place.number)

    @property
    def has_runs(self) -> bool:
        return self._lane.runs > 0

    def know(self, **facts: object) -> None:
        """What the session is found to be about. What is no text, or an empty one, says nothing."""
        for name, value in facts.items():
            if type(value) is str and value:
                setattr(self, name, value[: _FACT_CHARS_MAX[name]])

    def begin(
        self, text: str, at: object = None, *, place: LinePosition | None = None, said_by: str = ""
    ) -> None:
        """An input: a run begins, here or at an earlier place since which nothing was told. It is the user's,
        or that of whom it was `said_by`; a subagent is spoken to by its parent."""
        present, self._place = self._place, place or self._place
        if self._is_side:
            self._close_lane(self._lane)
        else:
            self.close_turn()
        self._place = present
        if self.session not in self._lanes:
            self._lanes[self.session] = self._lane
        self._be_storable()
        lane = self._lane
        lane.runs += 1
        lane.run = _OpenRun(
            session=self.session,
            ordinal=lane.runs,
            first_number=lane.next_number,
            folder=self.folder,
            branch=self.branch,
            agent_version=self.agent_version,
            parent=plain_id(self.parent) if self.parent else "",
            is_side=self._is_side,
        )
        self._turn.append(lane.run)
        said_by = ANOTHER_AGENT if self._is_side or self.parent else said_by
        text = shorten(text)
        body: JsonObject = {"text": text, "metadata": {WORDS_OF: said_by}} if said_by else {"text": text}
        if not self.add(EventType.INPUT, body, at, chars=len(text)):
            # A run begins with its input or not at all.
            self._turn.pop()
            lane.runs -= 1
            lane.run = None
        elif lane.outside:
            source, lane.outside = lane.outside, ""
            self.outside(source)

    def say(self, text: str, at: object = None) -> None:
        """The model says something, if it is not empty."""
        if text:
            text = shorten(text)
            self.add(_MESSAGE, {"text": text}, at, chars=len(text))

    def call(self, call_id: str, name: str, arguments: object, at: object = None) -> bool:
        given: JsonValue
        if type(arguments) is dict:
            given, chars = bound_arguments(arguments)
        else:
            given = bound_value(arguments)
            chars = size_of(given)
        body = {"call_id": call_id[:_ID_CHARS_MAX], "name": name[:_ID_CHARS_MAX], "arguments": given}
        return self.add(_CALL, body, at, chars=chars)

    def answer(
        self,
        call_id: str,
        output: str,
        at: object = None,
        *,
        exit_code: int | None = None,
        is_error: bool | None = None,
    ) -> None:
        output = shorten(output)
        body: dict[str, JsonValue] = {"call_id": call_id[:_ID_CHARS_MAX], "output": output}
        if exit_code is not None:
            body["exit_code"] = exit_code
        if is_error is not None:
            body["is_error"] = is_error
        self.add(_RESULT, body, at, chars=len(output))

    def add(self, kind: EventType, body: JsonObject, at: object = None, *, chars: int = 0) -> bool:
        """An event of the open run; `chars` is how long its texts are together, or more.

        What stands before the first input belongs to no run and is not told, nor is what goes beyond the
        limits of a run, which is counted; that there was something is. Whether it was added.
        """
        run = self._lane.run
        if run is None:
            if kind in _CALLING:
                self.outside(EARLIER_CONVERSATION)
            return False
        size = _EVENT_BYTES + chars * _CHARACTER_BYTES
        if self._is_measured or self._bytes + size > _BYTES_MAX:
            size = self._measure(body)
        if self._events >= _EVENTS_MAX or self._bytes + size > _BYTES_MAX:
            self._counts.skip(RUN_TOO_LONG)
            if run.events:
                self.outside(MORE_THAN_IS_READ)
            return False
        self._events += 1
        self._bytes += size
        time = at if type(at) is datetime else moment(at)
        run.events.append(ToldEvent(entry=Entry(type=kind, body=body), at=time))
        if self.model:
            run.model = self.model
        run.status = _COMPLETED
        run.settles_after = SETTLED_AFTER
        return True

    def outside(self, source: str) -> None:
        """Something came in here that is neither the user's nor of the work, and its text is not told: into
        the open run, or else before the next one of its session."""
        lane = self._lane
        if lane.run is None:
            lane.outside = lane.outside or source
            return
        run = lane.run
        if source in run.outside:
            return
        run.outside.add(source)
        body: JsonObject = {"call_id": _NO_CALL, "output": "", "source": source}
        event = ToldEvent(entry=Entry(type=_RESULT, body=body))
        if len(run.events) > 1 and (self._events >= _EVENTS_MAX or self._bytes + _EVENT_BYTES > _BYTES_MAX):
            # There is no room for more: it stands in the place of what came last.
            run.events[-1] = event
            return
        run.events.append(event)
        self._events += 1
        self._bytes += sent_bytes(body)

    def end(self, status: RunStatus) -> None:
        """The open run has ended so, unless more of it follows."""
        if self._lane.run is not None:
            self._lane.run.status = status

    def rest(self, settles_after: timedelta) -> None:
        """What was told of the open run may be all of it: so it is when nobody writes for so long."""
        if self._lane.run is not None:
            self._lane.run.settles_after = settles_after

    def close_turn(self) -> None:
        """The main line's run has ended, and those of its subagents: reading can go on from here."""
        title = self._told_title
        before, self._cut = self._cut, self._position()
        self._hand_over(before, self._cut, title=title, is_whole=True)

    def finish(self, *, idle: timedelta, is_cut_off: bool = False) -> None:
        """Nothing follows but perhaps a line that is cut off, and nobody has written for so long. What is
        open may still go on."""
        if all(idle >= (SETTLED_AFTER if is_cut_off else run.settles_after) for run in self._turn):
            self.close_turn()
        else:
            self._hand_over(self._cut, self._cut, title=self._told_title, is_whole=False)

    def take(self) -> list[ToldRun]:
        ready, self.ready = self.ready, []
        return ready

    @property
    def _told_title(self) -> str:
        return "" if self._is_mixed else self.title

    def _hand_over(self, before: Position, after: Position, *, title: str, is_whole: bool) -> None:
        for run in self._turn:
            is_last = run is self._turn[-1]
            self.ready.append(
                ToldRun(
                    agent=self._agent,
                    source_session=run.session,
                    ordinal=run.ordinal,
                    first_number=run.first_number,
                    events=self._in_time(run.events),
                    status=run.status,
                    folder=run.folder,
                    branch=run.branch,
                    model=run.model,
                    agent_version=run.agent_version,
                    # What the main line is called says what was asked for there.
                    title="" if run.is_side else title,
                    after=after if is_last else before,
                    is_whole=is_whole,
                    parent_session=run.parent,
                )
            )
        if self._turn:
            # Whoever goes on from here does not know it either.
            self.title = ""
        self._turn = []
        self._events = self._bytes = 0
        self._is_measured = False

    def stay_before(self, place: LinePosition) -> None:
        """Nothing follows, and what stands from an earlier place on is to be read again the next time."""
        self._place = place

    def _be_storable(self) -> None:
        """A run begins: make of what is known what can be kept."""
        for name in (*_FACTS, "title"):
            if not is_storable(text := getattr(self, name)):
                setattr(self, name, make_storable(text))
        self._note_folder()
        self._had_folder = self.folder

    def _note_folder(self) -> None:
        """A title may have come of what was done in another folder, of which nothing may be kept: where there
        were several, there is none."""
        self._is_mixed = self._is_mixed or self._had_folder not in (None, self.folder)

    def _measure(self, body: JsonObject) -> int:
        """How many bytes an event takes. What was estimated until now is measured too, once in a turn."""
        if not self._is_measured:
            self._is_measured = True
            self._bytes = sum(sent_bytes(event.entry.body) for run in self._turn for event in run.events)
        return sent_bytes(body)

    def _in_time(self, events: list[ToldEvent]) -> tuple[ToldEvent, ...]:
        """The events of a run; where none of them has a time, the first has that of the transcript."""
        if self._otherwise is not None and all(event.at is None for event in events):
            events[0] = replace(events[0], at=self._otherwise)
        return tuple(events)

    def _close_lane(self, lane: _Lane) -> None:
        if lane.run is not None:
            # The run's events, and its status.
            lane.next_number = lane.run.first_number + len(lane.run.events) + 1
            lane.run = None

    def _position(self) -> Position:
        for lane in self._lanes.values():
            self._close_lane(lane)
        had_runs = [session for session, lane in self._lanes.items() if lane.runs or lane.outside]
        for session in list(self._lanes):
            if session != self.session and session not in had_runs[-_LANES_CARRIED_MAX:]:
                del self._lanes[session]
        carried: dict[str, str | int] = {
            name: digest_of(value) if name in HIDDEN_FACTS else make_storable(value)
            for name in _FACTS
            if (value := getattr(self, name))
        }
        self._note_folder()
        if self._is_mixed:
            carried[_MIXED] = 1
        if self.session:
            carried["session"] = self.session
        for session, lane in self._lanes.items():
            if lane.runs:
                carried[_RUNS + session] = lane.runs
                carried[_NEXT + session] = lane.next_number
            if lane.outside:
                carried[_OUTSIDE + session] = lane.outside
        place = self._place
        return Position(offset=place.start, line=place.number, carried=carried | self.carried)

    def _take_up(self, carried: Mapping[str, str | int]) -> None:
        for name, value in carried.items():
            if name in _FACTS:
                setattr(self, name, str(value))
            elif name == _MIXED:
                self._is_mixed = True
            elif name.startswith(_RUNS):
                lane = self._lanes.setdefault(name.removeprefix(_RUNS), _Lane())
                lane.runs = int(value)
            elif name.startswith(_NEXT):
                self._lanes.setdefault(name.removeprefix(_NEXT), _Lane()).next_number = int(value)
            elif name.startswith(_OUTSIDE):
                self._lanes.setdefault(name.removeprefix(_OUTSIDE), _Lane()).outside = str(value)
            elif name == "session":
                self.session = str(value)
            else:
                self.carried[name] = value
        self._had_folder = self.folder if self._lanes else None
        if self.session:
            self._lane = self._lanes.setdefault(self.session, _Lane())
