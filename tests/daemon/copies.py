"""Worlds to back up and to restore into, and what a backup file holds."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from runlore.config.settings import Settings
from runlore.daemon.clock import TimeOrderedIds
from runlore.domain.access import Role
from runlore.domain.errors import RunloreError
from runlore.domain.policies.policy import PolicyName
from runlore.domain.run import RunStatus
from runlore.ports import operations as ops
from runlore.ports.store import DumpRow
from tests.flow.filling import fill
from tests.postgres_pool import PostgresPool
from tests.world import World

Worlds: TypeAlias = Callable[[str], World]
ENGINES = ("sqlite", "postgres")
# What a start writes for itself, and what is set afresh.
OF_THE_PLACE = {"processes", "jobs", "notes", "counters"}


@contextmanager
def new_worlds(folder: Path, pool: PostgresPool) -> Iterator[Worlds]:
    """Any number of empty worlds on either database."""
    with ExitStack() as open_now:
        made: list[World] = []

        def new(engine: str) -> World:
            url = None if engine == "sqlite" else open_now.enter_context(pool.database())
            settings = Settings(state_root=str(folder / f"world-{len(made)}"), database_url=url)
            made.append(World(settings, ids=TimeOrderedIds()))
            open_now.callback(made[-1].close)
            return made[-1]

        yield new


def fill_all(world: World) -> None:
    """Records of all kinds, sessions with runs, and what an operator has set."""
    fill(world)
    for number in range(3):
        world.finished(f"Build release {number} \u202e 東京", f"Built {number}")
    run = world.run("Break something")
    world.finish(run, RunStatus.FAILED, error="it broke")
    world.run("Still open")
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"retention_days": 7}))
    world.operator.create_token(ops.NewToken(name="ci", role=Role.AGENT))


def rows_of(world: World) -> dict[str, list[dict[str, Any]]]:
    """All that was carried, by table."""
    with world.parts.store.snapshot() as snapshot:
        rows: list[DumpRow] = list(snapshot.dump())
    found: dict[str, list[dict[str, Any]]] = {}
    for table, row in rows:
        if table not in OF_THE_PLACE | {"run_memories"}:
            found.setdefault(table, []).append({name: row[name] for name in row if name != "change"})
    return found


def memories_of(world: World) -> dict[str, object]:
    """All run memories."""
    found = list(world.parts.run_memories.everything())
    return {str(memory.run_id): memory for memory in found}


def contents(path: str | Path) -> list[bytes]:
    """A backup's lines."""
    return gzip.decompress(Path(path).read_bytes()).splitlines(keepends=True)


def forged(path: Path, lines: list[bytes]) -> Path:
    """A file whose checksum fits to whatever it holds."""
    counts: dict[str, int] = {}
    for line in lines[1:]:
        table = orjson.loads(line)[0]
        counts[table] = counts.get(table, 0) + 1
    end = orjson.dumps({"counts": counts, "sha256": sha256(b"".join(lines)).hexdigest()}) + b"\n"
    path.write_bytes(gzip.compress(b"".join([*lines, end])))
    return path


def restored_into(world: World, path: str | Path) -> str:
    """What became of a restore."""
    try:
        world.operator.restore_backup(str(path))
    except RunloreError as error:
        return error.code
    return "restored"


def untouched(world: World) -> bool:
    """Whether a world is as it was made."""
    return rows_of(world) == {} and memories_of(world) == {}


def small_backup(world: World) -> Path:
    """A small backup with a run memory."""
    world.finished("Build", "Built")
    return Path(world.operator.backup().path)
