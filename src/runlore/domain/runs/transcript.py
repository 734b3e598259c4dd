"""Transcripts of other agents: files and databases that people already have, and what a reader tells of them.

A reader turns a transcript into runs, one for each input of the user, with events in the shape of the
journal. What it does not understand it counts; what the agent's harness put in is not told at all.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from runlore.domain import limits
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.run import TERMINAL, RunId, RunStatus
from runlore.domain.runs.journal import Entry
from runlore.domain.session import SessionId


class TranscriptAgent(StrEnum):
    """The agents whose transcripts are read."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"
    OPENCODE = "opencode"
    SWE_AGENT = "swe-agent"
    AIDER = "aider"
    PLAIN = "jsonl"


# After so long without a change of its file the last run of a transcript is whole, whatever stands last.
SETTLED_AFTER = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class TranscriptSource:
    """One thing to read: a file, or one session of a database. `agent` is None where no reader knows it;
    then `problem` says why, and `looks_like` which agent it may be of. `is_ended` is known from its agent:
    its last run is done. Where the transcript is somebody else's, `persona_id` says whose."""

    path: str
    agent: TranscriptAgent | None
    part: str = ""
    bytes: int = 0
    modified_at: datetime
    problem: str = ""
    looks_like: str = ""
    is_ended: bool = False
    persona_id: str = ""

    @property
    def is_elsewhere(self) -> bool:
        """Whether it does not lie in a file here: then its path is an address."""
        return "://" in self.path

    @property
    def settles_at(self) -> datetime:
        """When all of it counts as written, unless somebody writes on."""
        return self.modified_at + SETTLED_AFTER


@dataclass(frozen=True, kw_only=True)
class Position:
    """How far a source has been read: up to where its last whole run ended.

    `fingerprint` is of the beginning of what was read, so that a file which was replaced is read anew.
    `carried` is what the reader has to know to go on from there (the session's id, the working folder, how
    many runs there were).
    """

    offset: Annotated[int, About(least=0, most=limits.NUMBER_MAX)] = 0
    line: Annotated[int, About(least=0, most=limits.NUMBER_MAX)] = 0
    fingerprint: Annotated[str, About("Of the beginning of what was read.", most=limits.ID_CHARS_MAX)] = ""
    carried: Annotated[
        Mapping[str, str | int],
        About("What the reader has to know to go on from there.", most=limits.POSITION_CARRIED_MAX),
    ] = field(default_factory=dict)


START = Position()


@JsonForm(flat=("entry",), first=("type", "at"))
@dataclass(frozen=True, kw_only=True, slots=True)
class ToldEvent:
    """One event of a transcript, in the shape of a journal's, at its original time where it has one.

    It is as the transcript tells it: nothing is redacted or checked yet (`journal_entry.parse_entry` does
    that before anything is stored), but no text of it is longer than `limits.TOLD_TEXT_CHARS_MAX`.
    """

    entry: Entry
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToldRun:
    """One input of the user and all that followed it, in the order of the transcript.

    `events` begins with the input. `first_number` is the number that this input has in the session's journal:
    a session begins with its binding (event 1), and each run ends with its status. `after` is the position
    behind it. `is_whole` is False for the last run of a transcript that may still be written.
    `parent_session` is the session whose agent began this one: it is a subagent's then. `project`,
    `project_name` and `project_folder` (the folder without links) are what is known of the folder where the
    transcript lies, which whoever stores it may not see.
    """

    agent: Annotated[TranscriptAgent, About("The agent that wrote the transcript.")]
    source_session: Annotated[str, About("The session as that agent calls it.", most=limits.PATH_CHARS_MAX)]
    ordinal: Annotated[int, About("The place of the run in its session.", least=0, most=limits.NUMBER_MAX)]
    first_number: Annotated[
        int, About("The number that its input has in the session's journal.", least=0, most=limits.NUMBER_MAX)
    ]
    events: Annotated[
        tuple[ToldEvent, ...],
        About("The input, then what happened, in that order.", least=1, most=limits.TOLD_RUN_EVENTS_MAX),
    ]
    status: Annotated[RunStatus, About(f"How it ended: {', '.join(sorted(TERMINAL))}.")] = RunStatus.COMPLETED
    folder: Annotated[str, About("Where the agent worked.", most=limits.PATH_CHARS_MAX)] = ""
    branch: Annotated[str, About("The branch that it worked on.", most=limits.TITLE_CHARS_MAX)] = ""
    model: Annotated[str, About("The model that it used.", most=limits.MODEL_CHARS_MAX)] = ""
    agent_version: Annotated[str, About("The version of the agent.", most=limits.ID_CHARS_MAX)] = ""
    title: Annotated[str, About("What the session is called.", most=limits.TITLE_CHARS_MAX)] = ""
    after: Annotated[Position, About("The position behind the run.")] = START
    is_whole: Annotated[bool, About("False where the transcript may still be written.")] = True
    project: Annotated[
        str, About("The folder's project, as it is known where it lies.", most=limits.PATH_CHARS_MAX)
    ] = ""
    project_name: Annotated[str, About("What people call that project.", most=limits.PATH_CHARS_MAX)] = ""
    project_folder: Annotated[
        str, About("The folder without links, where it is known.", most=limits.PATH_CHARS_MAX)
    ] = ""
    parent_session: Annotated[
        str,
        About(
            "The session whose agent began this one, where a subagent did the work.",
            most=limits.PATH_CHARS_MAX,
        ),
    ] = ""

    @property
    def session_id(self) -> SessionId:
        """The id that its session has here: always the same for the same session of the same agent."""
        return transcript_session_id(self.agent, self.source_session)

    @property
    def parent_id(self) -> SessionId | None:
        """The id that the session which began its own has here; None where nobody but the user did."""
        if not self.parent_session or self.parent_session == self.source_session:
            return None
        return transcript_session_id(self.agent, self.parent_session)

    @property
    def run_id(self) -> RunId:
        return RunId(f"run_{_digest(self.agent, self.source_session, str(self.ordinal))}")


@dataclass(kw_only=True)
class ReadCounts:
    """What was read of a source. `skipped` counts lines that were not understood, by reason. `after` is where
    it was read to its end without any run being told: then nobody need look into it again."""

    lines: int = 0
    bytes: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    after: Position | None = None

    @property
    def lines_skipped(self) -> int:
        return sum(self.skipped.values())

    def skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


class SkipReason(StrEnum):
    """Why a run of a transcript is not stored."""

    UNFINISHED = "unfinished"
    PAUSED = "paused"
    FOLDER = "folder"
    PRIVATE = "private"
    FORGOTTEN = "forgotten"
    ENDED = "ended"
    TAKEN = "taken"


@dataclass(frozen=True, kw_only=True)
class KnownFolder:
    """What is known here of a folder that a transcript names. `capture` False stores nothing of its runs."""

    path: str | None = None
    project: str = ""
    project_name: str = ""
    capture: bool = True


def transcript_session_id(agent: str, source_session: str) -> SessionId:
    """The id that an agent's session has here, whoever tells of it."""
    return SessionId(f"ses_{_digest(agent, source_session)}")


def mishap(error: Exception) -> str:
    """What is said where Runlore itself goes wrong in a source: the kind of error alone, for its text may
    quote the transcript."""
    return f"Runlore failed here: {type(error).__name__}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]
