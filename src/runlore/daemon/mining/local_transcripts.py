"""Where transcripts lie on this machine, and who reads them, here and at addresses."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

from runlore.agents.transcripts.local import LocalTranscripts
from runlore.agents.transcripts.locations import all_locations
from runlore.agents.transcripts.remote import RemoteTranscripts
from runlore.daemon.calls.working_folders import proposal_of
from runlore.daemon.clock import SystemClock
from runlore.domain.errors import Invalid
from runlore.domain.runs.transcript import START, Position, ReadCounts, ToldRun, TranscriptSource
from runlore.ports.transcripts import Transcripts


def local_transcripts() -> Transcripts:
    """The transcripts of whoever runs this process."""
    return LocalTranscripts(environment=os.environ, home=_home(), clock=SystemClock())


class AllTranscripts:
    """The transcripts in files here, and those at addresses."""

    def __init__(self) -> None:
        self._local, self._remote = local_transcripts(), remote_transcripts()

    def find(self, paths: Sequence[str], *, since: datetime | None = None) -> Iterator[TranscriptSource]:
        addresses, local = split_addresses(paths)
        found = () if addresses and not local else self._local.find(local, since=since)
        return chain(found, self._remote.find(addresses, since=since))

    def read(
        self, source: TranscriptSource, counts: ReadCounts, start: Position = START
    ) -> Iterator[ToldRun]:
        return (self._remote if source.is_elsewhere else self._local).read(source, counts, start)

    def is_unread(self, source: TranscriptSource, position: Position) -> bool:
        return self._local.is_unread(source, position)


def split_addresses(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """The paths that are addresses of other file systems, and those that are not."""
    return [path for path in paths if "://" in path], [path for path in paths if "://" not in path]


def remote_transcripts() -> Transcripts:
    """The transcripts at addresses, such as those of a bucket."""
    return RemoteTranscripts(local_transcripts(), _captures)


def _captures(folder: str) -> bool:
    """What the switch in a folder says; one that cannot be read is a no."""
    try:
        return proposal_of(folder).capture
    except Invalid:
        return False


def list_search_places() -> tuple[str, ...]:
    """Where transcripts of the known agents are looked for, whether there are any or not."""
    return tuple(path for path, looks_like in all_locations(os.environ, _home()) if not looks_like)


def is_transcript(path: str, connected: Iterable[Mapping[str, object]]) -> bool:
    """Whether a file lies where agents keep transcripts: as this process knows it, or as it was told when an
    agent was connected, for an agent may be started with other variables than the daemon."""
    real = os.path.realpath(path)
    places = list(list_search_places())
    for record in connected:
        environment, home = record.get("environment"), record.get("home")
        if isinstance(environment, dict) and isinstance(home, str):
            places += [place for place, looks_like in all_locations(environment, home) if not looks_like]
    return os.path.isfile(real) and any(
        os.path.commonpath([real, place]) == place for place in map(os.path.realpath, places)
    )


def _home() -> str:
    return os.path.expanduser("~")
