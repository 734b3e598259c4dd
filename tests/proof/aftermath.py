"""What has to be true of a state root after whatever happened to the process that worked on it."""

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from runlore.client.connect import open_operations
from runlore.config.settings import Settings
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import State
from runlore.ports import operations as ops
from runlore.ports.operations.operations import Operations
from tests.proof.workload import FORGOTTEN_WORD, SESSION, perform
from tests.world import files_with, inconsistencies

GZIP = b"\x1f\x8b"
EVERY_STATE = ops.Filters(states=frozenset(State))
# Their answers show what has become of the thing since; that it is the same one is seen by its id.
SINCE_CHANGED = {"propose a secret": "record_id", "session": "session_id"}


def check(
    root: Path, said: Mapping[str, Any], undisturbed: Mapping[str, object], database_url: str | None = None
) -> None:
    """Nothing that was acknowledged is lost, doubled or torn, and the script can be worked to its end.

    Repeated, each act that was acknowledged gives its answer of before; each that was not is done now, once;
    and all of it comes to what it comes to where nothing happens.
    """
    settings = Settings(state_root=str(root), database_url=database_url)
    assert not inconsistencies(settings), inconsistencies(settings)
    with open_operations(settings) as operations:
        again = dict(perform(operations, {}))
        assert not [name for name, answer in again.items() if is_refused(answer)], again
        for name, answer in said.items():
            if name in again and not is_refused(answer):
                part = SINCE_CHANGED.get(name)
                assert (again[name][part], part) == (answer[part], part) if part else again[name] == answer, (
                    name
                )
        operations.doctor(repair=True)
        found = describe(operations, root)
        differs = {
            name: (found[name], wanted) for name, wanted in undisturbed.items() if found[name] != wanted
        }
        assert not differs, differs
    # What was written out while it could not be forgotten is named to whoever forgets, and left to them.
    written_out = ("/exports/", "/backups/") if is_refused(said.get("forget")) else ()
    left = [path for path in files_with(root, FORGOTTEN_WORD) if not any(map(path.__contains__, written_out))]
    assert not left, left


def describe(operations: Operations, root: Path) -> dict[str, object]:
    """All that the script has made, without its ids and times."""
    operations.work_jobs()
    records = operations.list_records(ops.ListRequest(filters=EVERY_STATE, limit=500)).items
    journal = operations.journal(ops.JournalRequest(session_id=SESSION, limit=500)).items
    recent = operations.session_search(ops.SessionSearchRequest(session_id=SESSION)).results
    return {
        "records": sorted(
            (each.layer.value, each.summary, each.state.value, each.revision) for each in records
        ),
        "journal": [(event.number, event.type, event.body.get("text")) for event in journal],
        "runs": [view.run.status for view in operations.list_runs(ops.RunsRequest()).items],
        "recent": sorted(hit.kind for hit in recent),
        "skills": [
            (skill.name, skill.state, skill.revision)
            for skill in operations.list_skills(ops.SkillsRequest()).items
        ],
        "files": sorted(path.read_text() for path in root.glob("skills/**/SKILL.md")),
        "policy": len(operations.policy_history(PolicyName("run-memory"))),
        "torn": [path.name for path in (root / "exports").iterdir() if not _is_json(path.read_bytes())]
        + [path.name for path in (root / "backups").iterdir() if not _is_json(path.read_bytes())],
        "doctor": sorted(each.check for each in operations.doctor().findings if each.outcome == "problem"),
    }


def _is_json(content: bytes) -> bool:
    """Whether a file, packed or not, is JSON from its first line to its last."""
    try:
        plain = gzip.decompress(content) if content.startswith(GZIP) else content
        lines = plain.splitlines() if plain is not content else [plain]
        return all(orjson.loads(line) is not None for line in lines)
    except (EOFError, OSError, zlib.error, orjson.JSONDecodeError):
        return False


def is_refused(answer: object) -> bool:
    """Whether this is the code of a refusal."""
    return isinstance(answer, dict) and answer.keys() == {"refused"}
