"""The file of an import: opened and bounded, whether it is read here or sent to a daemon."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.regular_file import NotRegular, open_regular


@contextmanager
def open_import(path: str) -> Iterator[BufferedReader]:
    if "\0" in path:
        raise wrong_import("has no path that there can be", hint="give the path of an export")
    try:
        with open_regular(path, follow_links=True) as file:
            if os.fstat(file.fileno()).st_size > limits.IMPORT_BYTES_MAX:
                raise wrong_import("is larger than an import may be", hint="import it in parts")
            yield file
    except NotRegular:
        raise wrong_import("is not a regular file") from None
    except OSError as error:
        raise Invalid(
            f"{path!r} cannot be read: {error.strerror}; nothing was imported",
            code="import.file",
            hint="give the path of an export",
        ) from error


def wrong_import(problem: str, *, hint: str = "give a whole file that `memory export` wrote") -> Invalid:
    return Invalid(f"the import file {problem}; nothing was imported", code="import.file", hint=hint)
