"""What opencode keeps: a session, its messages, and their parts, however they are stored."""

from collections.abc import Iterable
from dataclasses import dataclass

from runlore.agents.transcripts.parsing import Plain


@dataclass(frozen=True, kw_only=True)
class OpencodeMessage:
    """A message as it was told, with its parts in order."""

    told: Plain
    parts: Iterable[Plain]


@dataclass(frozen=True, kw_only=True)
class OpencodeSession:
    """A session as it was told, with its messages in order."""

    id: str
    told: Plain
    messages: Iterable[OpencodeMessage]
