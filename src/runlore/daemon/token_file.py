"""`operator.token`: the file of a state root that holds the operator's secret."""

import os
import stat

from runlore.atomic_write import atomic_write
from runlore.domain.errors import Unavailable

TOKEN_FILE = "operator.token"
SECRET_CHARS_MAX = 500


def write_secret(state_root: str, secret: str) -> None:
    text = f"{secret}\n".encode()
    atomic_write(os.path.join(state_root, TOKEN_FILE), lambda file: file.write(text))


def read_secret(state_root: str) -> str | None:
    """The operator's secret as the file has it; None where there is none."""
    path = os.path.join(state_root, TOKEN_FILE)
    try:
        # Whoever put a link or a pipe there has something in mind: neither is followed, neither holds us up.
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = "it is a link" if os.path.islink(path) else error.strerror or "it cannot be opened"
        raise _unreadable(state_root, reason) from None
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise _unreadable(state_root, "it is not a regular file")
        return os.read(opened, SECRET_CHARS_MAX).decode().strip() or None
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise _unreadable(state_root, error.strerror or "reading failed") from None
    finally:
        os.close(opened)


def _unreadable(state_root: str, reason: str) -> Unavailable:
    return Unavailable(
        f"{TOKEN_FILE} in {state_root} cannot be read: {reason}",
        code="token.file",
        hint="make it a file that this user can read, or remove it: the next start makes a new one",
    )
