"""`operator.token`: the file of a state root that holds the operator's secret."""

import os

from runlore.atomic_write import atomic_write
from runlore.domain.errors import Unavailable
from runlore.regular_file import NotRegular, open_regular

TOKEN_FILE = "operator.token"
SECRET_CHARS_MAX = 500


def write_secret(state_root: str, secret: str) -> None:
    text = f"{secret}\n".encode()
    atomic_write(os.path.join(state_root, TOKEN_FILE), text)


def read_secret(state_root: str) -> str | None:
    """The operator's secret as the file has it; None where there is none."""
    path = os.path.join(state_root, TOKEN_FILE)
    try:
        # Whoever put a link or a pipe there has something in mind: neither is followed, neither holds us up.
        with open_regular(path) as file:
            return file.read(SECRET_CHARS_MAX).decode().strip() or None
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    except (NotRegular, IsADirectoryError):
        raise _unreadable(state_root, "it is not a regular file") from None
    except OSError as error:
        reason = "it is a link" if os.path.islink(path) else error.strerror or "reading failed"
        raise _unreadable(state_root, reason) from None


def _unreadable(state_root: str, reason: str) -> Unavailable:
    return Unavailable(
        f"{TOKEN_FILE} in {state_root} cannot be read: {reason}",
        code="token.file",
        hint="make it a file that this user can read, or remove it: the next start makes a new one",
    )
