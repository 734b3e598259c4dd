"""A story of commands, told so that two tellings can be compared: without what is never the same twice."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from tests.surfaces.command_line import Json, Outcome, Runlore

# The words of a command, its exit code, what it printed, and what it said on stderr.
Step: TypeAlias = tuple[tuple[str, ...], int, str, str]
# What two runs of the same story differ in: the ids and times that Runlore gives, and what is made of them.
_ID = re.compile(r"\b[a-z]{2,8}_[0-9a-hjkmnp-tv-z]{26}\b")
_PROCESS = re.compile(r"\bproc_[0-9a-hjkmnp-tv-z]{26}\b")
_VARYING = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\b"), "TIME"),
    (re.compile(r"\b\d{8}T\d{6,12}Z?(-\d+)?\b"), "STAMP"),
    (re.compile(r'"(next_cursor|digest|sources_digest|secret)": "[^"]+"'), r'"\1": "..."'),
    (re.compile(r'"bytes": \d+'), '"bytes": 0'),
)


@dataclass
class Story:
    """Commands, and what each of them printed, with ids and times replaced by their order."""

    place: Runlore
    told: list[Step] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str) -> Outcome:
        """One command with `--json`."""
        outcome = self.place.run(*words, "--json")
        shown = tuple(self.plain(word) for word in words)
        self.told.append((shown, outcome.code, self.plain(outcome.out), self.plain(outcome.err)))
        return outcome

    def done(self, *words: str) -> Json:
        """One command that succeeds."""
        outcome = self.run(*words)
        assert outcome.code == 0, outcome
        self.told.pop()
        self.told.append((words[:2], 0, self.plain(outcome.out), outcome.err))
        return document(outcome.out)

    def plain(self, text: str) -> str:
        """The text without what is never the same twice."""
        text = _PROCESS.sub("PROCESS", text.replace(str(self.place.home), "HOME"))
        text = _ID.sub(lambda found: self.names.setdefault(found[0], f"id{len(self.names) + 1}"), text)
        for pattern, word in _VARYING:
            text = pattern.sub(word, text)
        return text


def differences(one: Sequence[Step], other: Sequence[Step]) -> list[tuple[Step, Step]]:
    """The steps that were told in other words."""
    return [(here, there) for here, there in zip(one, other, strict=True) if here != there]


def document(text: str) -> Json:
    """The one document of a text."""
    document = orjson.loads(text)
    assert isinstance(document, dict)
    return document
