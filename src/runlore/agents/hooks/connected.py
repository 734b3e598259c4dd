"""What a state root keeps of connected agents: a token, what was changed to connect them, the last report."""

import json
import os
from contextlib import suppress
from datetime import datetime

from runlore.domain.timestamps import from_milliseconds

FOLDER = "agents"


def connections(state_root: str) -> dict[str, dict[str, object]]:
    """What was changed to connect each agent; what cannot be read is left out."""
    folder = os.path.join(state_root, FOLDER)
    found: dict[str, dict[str, object]] = {}
    with suppress(OSError):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".json"):
                with suppress(OSError, ValueError), open(os.path.join(folder, name), "rb") as file:
                    found[name.removesuffix(".json")] = dict(json.load(file))
    return found


def report_path(state_root: str, agent: str) -> str:
    return os.path.join(state_root, FOLDER, f"{agent}.reported")


def last_report(state_root: str, agent: str) -> datetime | None:
    """When an agent's hooks last reported."""
    try:
        return from_milliseconds(int(os.stat(report_path(state_root, agent)).st_mtime * 1000))
    except OSError:
        return None
