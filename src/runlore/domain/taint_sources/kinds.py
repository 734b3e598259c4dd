"""The kinds of outside, and what a table's row says of one."""

from enum import StrEnum

from runlore.domain.lazy import dataclass


class OutsideKind(StrEnum):
    """What something that was read from outside is."""

    WEB_PAGE = "web page"
    MCP_TOOL = "MCP tool"
    DOWNLOAD = "download"
    PACKAGE = "package"
    REMOTE = "remote service"
    SENSITIVE_FILE = "sensitive file"
    OTHER_AGENT = "other agent"
    PAST_RUN = "past run"
    UNKNOWN_TOOL = "unknown tool"
    OTHER_FOLDER = "other folder"
    HISTORY = "history"
    DATABASE = "database"


class Brings(StrEnum):
    """Whether text enters the conversation at once, or code is put where it may be read or run later."""

    TEXT = "text"
    CODE = "code"


@dataclass(frozen=True, kw_only=True)
class Outside:
    """Why something counts: its kind, what it brings, and the reason in words."""

    kind: OutsideKind
    brings: Brings
    why: str


@dataclass(frozen=True, kw_only=True)
class WorkPlace:
    """Where a run worked: its folder, if that is known, and whether Runlore's own agent did."""

    folder: str = ""
    is_ours: bool = False


ANYWHERE = WorkPlace()


# A source, and the reason that it counts.
Reading = tuple[str, Outside]
