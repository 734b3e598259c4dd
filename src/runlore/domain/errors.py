"""The errors that a caller can meet, each with a stable code, a sentence and a hint.

Surfaces translate them (exit codes, HTTP statuses); nothing here knows how they are shown.
"""

# The code of what a full disk keeps from being written, wherever that is noticed.
DISK_FULL = "store.disk-full"
CONNECTION_LOST = "store.connection-lost"
COMMIT_LOST = "store.commit-lost"
"""The database went away in the middle of a transaction: nothing was written, and it can be done again."""
UNREACHABLE = "store.unreachable"
INDEX_BUILDING = "index.building"


class RunloreError(Exception):
    """What went wrong (`code`, for programs), why (the sentence), and what to do (`hint`)."""

    title = "Something went wrong"

    def __init__(self, sentence: str, *, code: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
        self.hint = hint

    @property
    def with_code(self) -> str:
        """The sentence with the code behind it: what a log says, and whoever has room for one line."""
        return f"{self.sentence} [{self.code}]"


class Invalid(RunloreError):
    """The input is wrong; the same call can never succeed."""

    title = "The input is not valid"


class Refused(RunloreError):
    """The input is well formed, and a rule says no."""

    title = "Refused by a rule"


class Denied(RunloreError):
    """Not allowed to this caller."""

    title = "Not allowed"


class NotFound(RunloreError):
    """The id names nothing."""

    title = "Not found"


class Conflict(RunloreError):
    """Somebody or something else moved, or the move is not legal from here."""

    title = "Conflict"


class Unavailable(RunloreError):
    """Try later: a lock, a server or a disk is not ready."""

    title = "Not available now"


class Corrupt(RunloreError):
    """Stored data is damaged and needs repair before anything is written."""

    title = "Stored data is damaged"
