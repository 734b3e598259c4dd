"""What is saved of something derived: its file with all that a crash left beside it, and what it covers."""

import contextlib
import os
from typing import cast

import orjson

from runlore.atomic_write import sync_folder
from runlore.domain.errors import Unavailable
from runlore.ports.store import StorePosition


def delete_saved(path: str, what: str) -> None:
    """Delete a saved file, also what a crash while saving has left beside it. Unavailable `index.discard`."""
    folder, name = os.path.split(path)
    try:
        found = [each for each in os.listdir(folder) if each.startswith(name)]
        for each in found:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, each))
        if found:
            sync_folder(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise Unavailable(
            f"the saved {what} under {folder} cannot be deleted: {error.strerror}",
            code="index.discard",
            hint="make the folder writable; nothing was changed",
        ) from error


def delete_file(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be deleted: {error.strerror}",
            code="index.discard",
            hint="make the folder writable; nothing was changed",
        ) from error
    return True


def stamp_of(position: StorePosition) -> str:
    fields = {"store": position.store_id, "cursor": position.cursor, "witness": position.witness}
    return orjson.dumps(fields).decode()


def position_of(stamp: str) -> StorePosition | None:
    """The position that a file says; None where it says none."""
    try:
        fields = cast("dict[str, str | int]", orjson.loads(stamp))
        return StorePosition(
            store_id=str(fields["store"]), cursor=int(fields["cursor"]), witness=str(fields["witness"])
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
