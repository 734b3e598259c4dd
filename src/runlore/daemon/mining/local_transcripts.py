"""Where transcripts lie on this machine, and who reads them."""

import os

from runlore.agents.transcripts.local import LocalTranscripts
from runlore.agents.transcripts.locations import all_locations
from runlore.daemon.clock import SystemClock
from runlore.ports.transcripts import Transcripts


def local_transcripts() -> Transcripts:
    """The transcripts of whoever runs this process."""
    return LocalTranscripts(environment=os.environ, home=_home(), clock=SystemClock())


def looked_at() -> tuple[str, ...]:
    """Where transcripts of the known agents are looked for, whether there are any or not."""
    return tuple(path for path, looks_like in all_locations(os.environ, _home()) if not looks_like)


def _home() -> str:
    return os.path.expanduser("~")
