"""Listens to a run's events for texts: which came from outside, and which from inside.

What the user typed, and what was read of the working folder before anything outside, was there first: it is
not outside's, whoever says it again. A call that prints more than what it brings from outside says neither.
A file that is written with words from outside is known again by its path.
"""

from collections.abc import Iterator, Mapping

from runlore.domain.detectors.outcome import output_text
from runlore.domain.learning.own_words import cut_pasted
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.runs.journal import EventType, text_of, words_of
from runlore.domain.taint_sources.addresses import ReadingBudget, source_name
from runlore.domain.taint_sources.call_files import CallFiles
from runlore.domain.taint_sources.calls import prints_outside
from runlore.domain.taint_sources.fingerprints import (
    FINGERPRINTS_PER_RUN_MAX,
    READ_CHARS_MAX,
    fingerprint_inside,
    fingerprint_path,
    fingerprint_place,
    fingerprint_text,
)
from runlore.domain.taint_sources.kinds import ANYWHERE, WorkPlace
from runlore.domain.taint_sources.reading import NumberedEvent, sources_of_event

# A text without any fingerprint is read as well: so many of its characters take the room of one.
CHARS_A_FINGERPRINT = 40
# How many files of one run are noted that it shows or writes.
FILES_MAX = 1_000


class OutsideTexts:
    """What was heard: fingerprints by the source that brought them, and those of each result from inside.

    Where nothing of it is kept, `asks_only` leaves out all but what is asked after: results from inside.
    """

    def __init__(self, place: WorkPlace = ANYWHERE, *, asks_only: bool = False) -> None:
        self._place = place
        self._asks_only = asks_only
        self.outside: dict[str, set[int]] = {}
        self.inside: list[tuple[int, frozenset[int]]] = []
        # The files that results are from, and those that were written, with what they were given.
        self.read_files: list[tuple[int, int]] = []
        self.written: list[tuple[int, frozenset[int]]] = []
        # Files that were made of others, with these and their folders.
        self.derived: list[tuple[tuple[int, ...], int]] = []
        self._own: set[int] = set()
        self._reading: dict[str, list[int]] = {}
        self._calls: dict[str, str] = {}
        self._known: set[str] = set()
        self._budget = ReadingBudget.of_run()
        self._room = 2 * FINGERPRINTS_PER_RUN_MAX

    def hear(self, event: NumberedEvent) -> None:
        """Take the next event."""
        if event.type is EventType.TOOL_CALL:
            source = next(iter(sources_of_event(event, self._known, self._budget, self._place)), "")
            call_id = event.body.get("call_id")
            if source and isinstance(call_id, str):
                name, given = str(event.body.get("name")), event.body.get("arguments")
                is_told = prints_outside(name, given, self._place.folder)
                self._calls[call_id] = source_name(source) if is_told else ""
            self._note_files(event.body)
        elif event.type is EventType.TOOL_RESULT and self._room > 0:
            brought = next(iter(sources_of_event(event, self._known, self._budget, self._place)), "")
            told = source_name(brought) if brought else self._calls.get(str(event.body.get("call_id")))
            files = self._reading.pop(str(event.body.get("call_id")), ())
            self.read_files += [(event.number, file) for file in files]
            if told != "":
                self._take(event.number, told, strip_injected(output_text(event.body.get("output"))))
        elif event.type is EventType.INPUT and self._room > 0 and not self._asks_only:
            text = strip_injected(text_of(event.body))
            own = "" if words_of(event.body) else cut_pasted(text)
            self._own |= self._read(own, is_whole=True)
            source = next(iter(sources_of_event(event, self._known, self._budget, self._place)), "")
            if source:
                self._take(event.number, source, text[len(own) :])

    def _note_files(self, body: JsonObject) -> None:
        name, arguments, call_id = body.get("name"), body.get("arguments"), body.get("call_id")
        noted = len(self.written) + len(self._reading) + len(self.derived)
        if not isinstance(name, str) or noted >= FILES_MAX:
            return
        files = CallFiles(name, arguments, self._place.folder)
        for path in files.list_shown():
            if isinstance(call_id, str):
                self._reading.setdefault(call_id, []).extend(fingerprint_place(path, self._place.folder))
        if self._asks_only:
            return
        for path, source in files.list_brought():
            found = self.outside.setdefault(source_name(source), set())
            found.add(fingerprint_path(path, self._place.folder))
        for inputs, path in files.list_derived():
            given = [each for one in inputs for each in fingerprint_place(one, self._place.folder)]
            self.derived.append((tuple(given), fingerprint_path(path, self._place.folder)))
        for path in files.list_written():
            texts = self._read("\n".join(_texts_in(arguments)))
            self.written.append((fingerprint_path(path, self._place.folder), texts))

    def _take(self, number: int, source: str | None, text: str) -> None:
        if source:
            if not self._asks_only:
                self.outside.setdefault(source, set()).update(self._read(text) - self._own)
            return
        is_own = not (self._asks_only or self._calls or self.outside)
        inside, own = fingerprint_inside(text, is_own=is_own)
        self._spend(text, inside)
        self.inside.append((number, inside))
        if own:
            self._spend(text, own)
            self._own |= own

    def _read(self, text: str, *, is_whole: bool = False) -> frozenset[int]:
        found = fingerprint_text(text, is_whole=is_whole)
        self._spend(text, found)
        return found

    def _spend(self, text: str, found: frozenset[int]) -> None:
        """A text that has few fingerprints costs its characters, as many as are read."""
        self._room -= max(len(found), min(len(text), READ_CHARS_MAX) // CHARS_A_FINGERPRINT)


def _texts_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)
