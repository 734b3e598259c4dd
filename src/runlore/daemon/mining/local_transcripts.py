"""Where transcripts lie on this machine, and who reads them."""

import os
from collections.abc import Iterable, Mapping

from runlore.agents.transcripts.local import LocalTranscripts
from runlore.agents.transcripts.locations import all_locations
from runlore.daemon.clock import SystemClock
from runlore.ports.transcripts import Transcripts


def local_transcripts() -> Transcripts:
    """The transcripts of whoever runs this process."""
    return LocalTranscripts(environment=os.environ, home=_home(), clock=SystemClock())


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
