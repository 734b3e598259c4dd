"""The settings: one frozen value, read once from defaults, `config.toml`, environment and flags.

What the file may hold stands in `config/file.py`, which is loaded only when there is a file.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from runlore.domain.errors import Invalid, Unavailable

HOME_VARIABLE = "RUNLORE_HOME"
DATABASE_VARIABLE = "RUNLORE_DATABASE_URL"
CONFIG_NAME = "config.toml"
_CONFIG_BYTES_MAX = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be set, with nothing left to look up."""

    state_root: str
    database_url: str | None = None


def read_settings(*, home: str | None, environment: Mapping[str, str]) -> Settings:
    """Flags over environment over `config.toml` over defaults."""
    state_root = _state_root(home, environment)
    file = _read_file(os.path.join(state_root, CONFIG_NAME))
    return Settings(
        state_root=state_root,
        database_url=environment.get(DATABASE_VARIABLE) or file.get("database.url") or None,
    )


def _state_root(home: str | None, environment: Mapping[str, str]) -> str:
    if home is not None and not home.strip():
        # An unset variable in a script: falling back to another state root would surprise.
        raise Invalid("--home is blank", code="settings.home", hint="name a folder, or leave --home out")
    chosen = home or environment.get(HOME_VARIABLE)
    if not chosen:
        user_home = environment.get("HOME")
        if not user_home:
            raise Invalid(
                "neither RUNLORE_HOME nor HOME is set, so there is no place for the state root",
                code="settings.home",
                hint="set RUNLORE_HOME, or give --home",
            )
        chosen = os.path.join(user_home, ".runlore")
    if "\0" in chosen:
        raise Invalid(
            "the state root's path holds a NUL character", code="settings.home", hint="name another folder"
        )
    return os.path.abspath(os.path.expanduser(chosen))


def _read_file(path: str) -> Mapping[str, str]:
    try:
        with open(path, "rb") as file:
            text = file.read(_CONFIG_BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be read: {error.strerror}",
            code="settings.file",
            hint="make it a file that this user can read, or move it away",
        ) from error
    if len(text) > _CONFIG_BYTES_MAX:
        raise Invalid(f"{path} is larger than 1 MiB", code="settings.file", hint="it is not a settings file")
    from runlore.config.file import parsed

    return parsed(path, text)
