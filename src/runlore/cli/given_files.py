"""Files that an option names: read whole up to a limit, `-` from standard input."""

import sys
from collections.abc import Callable
from typing import TypeAlias

from runlore.domain.errors import Invalid

# Makes the error of a sentence and a hint, under the code of whoever asked for the file.
Refused: TypeAlias = Callable[[str, str], Invalid]


def bytes_of(path: str, *, mib_max: int, too_large: str, refused: Refused) -> bytes:
    """What a file holds. Of what is endless no more is read than tells that it is too large."""
    most = mib_max << 20
    try:
        if path == "-":
            content = sys.stdin.buffer.read(most + 1)
        else:
            with open(path, "rb") as file:
                content = file.read(most + 1)
    except OSError as error:
        raise refused(f"{path} cannot be read: {error.strerror}", "check the path") from error
    if len(content) > most:
        raise refused(f"{path} is larger than {mib_max} MiB", too_large)
    return content


def text_of(path: str, *, mib_max: int, too_large: str, refused: Refused) -> str:
    """The same for a text."""
    content = bytes_of(path, mib_max=mib_max, too_large=too_large, refused=refused)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise refused(f"{path} is not a text in UTF-8", "write it again with a text editor") from None
