"""People can say no: whether anything of a session may be stored at all."""

from runlore.domain.session import Session
from runlore.ports.store import Collections

CAPTURE_PAUSED = "capture.paused"


class CaptureOff(Exception):
    """Nothing may be stored. It is no error: whoever asked is told that nothing was."""


def is_captured(collections: Collections, session: Session) -> bool:
    """Whether what happens in a session is kept: it is not private, its persona allows it, nobody paused.

    A working folder that says no has made the session private when it was created.
    """
    return not session.private and not is_muted(collections, session)


def require_captured(collections: Collections, session: Session) -> None:
    """Leave an act undone where nothing of a session is kept; its transaction writes nothing."""
    if not is_captured(collections, session):
        raise CaptureOff


def is_muted(collections: Collections, session: Session) -> bool:
    """Whether capture is off at present, everywhere or for the session's persona."""
    switch = collections.counters.switch(CAPTURE_PAUSED)
    if switch is not None and switch.on:
        return True
    persona_id = session.binding.persona_id
    persona = None if persona_id is None else collections.sessions.find_persona(persona_id)
    return persona is not None and not persona.capture
