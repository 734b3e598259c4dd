"""Forks of Codex sessions: a forked rollout begins with the whole history of the session it came from.

A run has to be counted once, in whichever of the files it stands. Sessions and turns have ids that grow with
time, so a turn belongs to the latest session of the file that began before it. Where the rollout of the
origin lies nearby, the repeated history is passed over, for it is told better there; else it is told here, as
the origin's own runs.
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from runlore.agents.transcripts.assembly import EARLIER_CONVERSATION, Assembly, plain_id
from runlore.agents.transcripts.parsing import moment, text_of

_OWN, _CHAIN, _REPEATS, _BEGAN = "own", "chain", "repeats", "began"
_TOLD, _PASSED_OVER = "told", "passed over"
_CHAIN_MAX = 32
# Where ids say nothing about time: a repeated history is written at once.
_REPEATED_WITHIN = timedelta(seconds=5)
_ENDING_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")


class Chain:
    """The sessions of one rollout: its own, and those whose history it repeats."""

    def __init__(self, path: str, assembly: Assembly) -> None:
        self._path = path
        self._assembly = assembly
        self._known: dict[str, str | int] = assembly.carried
        self.is_repeating = _REPEATS in self._known
        self.is_passed_over = self._known.get(_REPEATS) == _PASSED_OVER

    def session(self, id: str, at: object) -> bool:
        """The rollout names a session. Whether it is its own one."""
        id = plain_id(id)
        own = str(self._known.get(_OWN, ""))
        if not own:
            self._known[_OWN] = id
            self._known[_BEGAN] = text_of(at) if moment(at) else ""
            self._assembly.speak_of(id)
            return True
        if id == own:
            return True
        chain = str(self._known.get(_CHAIN, "")).split()
        if not self.is_repeating:
            if self._assembly.is_open or chain:
                # Another session follows in the same file.
                self._known[_OWN] = id
                self._go_on_as(id)
                return True
            self.is_repeating = True
            self.is_passed_over = _lies_nearby(self._path, id)
            self._known[_REPEATS] = _PASSED_OVER if self.is_passed_over else _TOLD
        if id not in chain and len(chain) < _CHAIN_MAX:
            self._known[_CHAIN] = " ".join(sorted([*chain, id]))
        if not self.is_passed_over:
            self._assembly.speak_of(id)
        return False

    def is_own(self, turn: str, at: object) -> bool:
        """Whether the history before this turn, or this line, has ended: the rollout's own turns follow."""
        own = str(self._known.get(_OWN, ""))
        if _is_timed(own):
            if not turn:
                return False
            if _is_timed(turn):
                return self._turn_of(turn, own)
        return self._is_late(at) and self._turn_of(own, own)

    def _turn_of(self, turn: str, own: str) -> bool:
        if turn >= own:
            self.is_repeating = self.is_passed_over = False
            self._known.pop(_REPEATS, None)
            self._go_on_as(own)
            return True
        if not self.is_passed_over:
            chain = str(self._known.get(_CHAIN, "")).split()
            earlier = [session for session in chain if session <= turn]
            self._assembly.speak_of(earlier[-1] if earlier else chain[0])
        return False

    def _go_on_as(self, session: str) -> None:
        """A session goes on from another's history, which is not told with its own runs."""
        self._assembly.speak_of(session)
        if not self._assembly.has_runs:
            self._assembly.outside(EARLIER_CONVERSATION)

    def _is_late(self, at: object) -> bool:
        began, now = moment(self._known.get(_BEGAN)), moment(at)
        return began is not None and now is not None and now - began > _REPEATED_WITHIN


def id_in_name(path: str) -> str:
    """The session's id where the rollout itself does not tell one: from the file's name."""
    name = Path(path).name.removesuffix(".gz").removesuffix(".jsonl")
    found = _ENDING_ID.search(name)
    return found[1] if found else name


def _is_timed(id: str) -> bool:
    return len(id) == 36 and id[14] == "7" and id.count("-") == 4


def _lies_nearby(path: str, session: str) -> bool:
    """Whether the rollout of a session lies where this one does, or where one of its day would."""
    folder = Path(path).absolute().parent
    folders = [folder]
    if all(part.isdigit() for part in folder.parts[-3:]) and len(folder.parts) > 4 and _is_timed(session):
        root = folder.parents[2]
        began = datetime.fromtimestamp(int(session[:8] + session[9:13], 16) / 1000, UTC)
        days = [began + timedelta(days=shift) for shift in (-1, 0, 1)]
        folders += [root / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}" for day in days]
        folders.append(root.parent / "archived_sessions")
    return any(_holds(each, session) for each in folders)


def _holds(folder: Path, session: str) -> bool:
    try:
        return any(session in entry.name for entry in folder.iterdir())
    except OSError:
        return False
