"""Whose sessions are read, where they are those of several people: a TOML file that says it.

    ada = ["s3://transcripts/ada"]
    grace = ["s3://transcripts/grace", "/home/grace"]

Who does not stand there is not read. What each of them says counts for that persona alone.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from runlore.domain.errors import Invalid
from runlore.domain.runs.transcript import TranscriptSource
from runlore.domain.scope import Scope, ScopeKind


class FindSources(Protocol):
    """Finds the sources at paths."""

    def __call__(
        self, paths: Sequence[str], *, since: datetime | None = None
    ) -> Iterator[TranscriptSource] | list[TranscriptSource]: ...


def find_of_people(path: str, find: FindSources, *, since: datetime | None) -> list[TranscriptSource]:
    """The sources of all the people that a file names, each with whose it is."""
    return [
        replace(source, persona_id=persona_id)
        for persona_id, paths in _read(path).items()
        for source in find(paths, since=since)
    ]


def _read(path: str) -> dict[str, list[str]]:
    try:
        with open(path, "rb") as file:
            people = tomllib.load(file)
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _invalid(path, f"is no TOML: {error}") from error
    for persona_id, paths in people.items():
        if not isinstance(paths, list) or not paths or not all(isinstance(each, str) for each in paths):
            raise _invalid(path, f"has no list of paths for {persona_id!r:.100}")
        Scope(ScopeKind.PERSONA, persona_id)
    return people


def _invalid(path: str, problem: str) -> Invalid:
    return Invalid(
        f"{path!r:.300} {problem}",
        code="learn.people",
        hint='write a line for each persona, such as: ada = ["s3://transcripts/ada"]',
    )
