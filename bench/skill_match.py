"""`runlore skill match` end to end: in a daemon at 10,000 skills, and as a command without one.

The skills are those of the set `skills`, varied as in `bench/skills.py`, stored and with their files. In the
daemon a match stands beside a request that does nothing and beside the bare index in this process; CPU time
of the daemon where the system tells it, and wall time of whoever calls. A command without a daemon builds all
that it needs: it stands beside a search in an empty memory, which starts as much and builds nothing.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from bench.measure import Percentiles, cpu_percentiles, print_table
from bench.serving import EMPTY, over_socket, serving
from bench.skill_queries import asked_of, real_skills
from bench.skills import varied
from bench.start_up import RUNLORE, cpu_median
from runlore.client.transport import Transport
from runlore.config.settings import Settings
from runlore.daemon.parts import Parts
from runlore.daemon.wiring import open_parts
from runlore.domain.skill import Skill, SkillDocument, SkillId, SkillOrigin
from runlore.domain.suggesting.naming import slug, unique_name
from runlore.recall.skills import SkillIndex

TITLE = "skill match end to end: in a daemon at 10,000 skills, and as a command without one"

MANY = 10_000
SIZES = (0, 100, 1_000)
CALLS = 300
WARM_UP = 20
LIMIT = 5
_AT_ONCE = 500
_MADE_AT = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    """Measure both on this file system."""
    skills = real_skills()
    queries = [each.query for each in asked_of(skills) if each.half == "B"][: CALLS + WARM_UP]
    documents = list(_named(islice(varied(skills), MANY)))
    with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
        home = str(Path(folder) / "many")
        _fill(home, documents)
        _report_daemon(home, documents, queries)
        _report_commands(Path(folder), documents, queries[0])


def _report_daemon(home: str, documents: Sequence[SkillDocument], queries: Sequence[str]) -> None:
    index = SkillIndex((SkillId(f"skl_{number:06}"), each) for number, each in enumerate(documents))
    bare = cpu_percentiles(lambda query: index.match(query, limit=LIMIT), queries, warm_up=WARM_UP)
    with serving(home) as told:
        token = (Path(home) / "operator.token").read_text(encoding="utf-8").strip()
        transport = over_socket(told, token)
        path = f"/v1/skills?limit={LIMIT}&query="
        start = time.perf_counter()
        size = len(_called(transport, path + quote(queries[0])))
        print(
            f"{len(documents):,} skills: the first match in a daemon took {time.perf_counter() - start:.1f} s"
        )
        rows: list[tuple[str, str, str, str]] = []
        measured = {
            "an empty request": _measured(transport, told.pid, [f"{EMPTY}/{size}"] * len(queries)),
            "skill match": _measured(transport, told.pid, [path + quote(query) for query in queries]),
        }
        for name, (cpu_ms, wall) in measured.items():
            rows.append((name, _told(cpu_ms), f"{wall.p50_ms:.2f}", f"{wall.p99_ms:.2f}"))
        rows.append(("the bare index, here", f"{bare.p50_ms:.2f}", "-", "-"))
        transport.close()
    print_table(("call", "CPU ms", "p50 ms", "p99 ms"), rows)


def _measured(transport: Transport, pid: int, paths: Sequence[str]) -> tuple[float | None, Percentiles]:
    """What the daemon spends on a call, on average, and how long the caller waits."""
    for path in paths[:WARM_UP]:
        _called(transport, path)
    before, taken = _cpu_s(pid), []
    for path in paths[WARM_UP:]:
        start = time.perf_counter_ns()
        _called(transport, path)
        taken.append(time.perf_counter_ns() - start)
    after = _cpu_s(pid)
    spent = None if before is None or after is None else (after - before) * 1_000 / len(taken)
    return spent, Percentiles.of(taken)


def _called(transport: Transport, path: str) -> bytes:
    answer = transport.call("GET", path)
    assert answer.status == 200, (path, answer.status, answer.body[:200])
    return answer.body


def _cpu_s(pid: int) -> float | None:
    """What a process has used of the CPU; None where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _told(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.2f}"


def _report_commands(folder: Path, documents: Sequence[SkillDocument], query: str) -> None:
    print()
    rows = []
    for size in (*SIZES, len(documents)):
        home = str(folder / "many") if size == len(documents) else str(folder / f"home-{size}")
        if size < len(documents):
            _fill(home, documents[:size])
        environment = _environment(home)
        searched = cpu_median([*RUNLORE, "memory", "search", "word"], environment)
        listed = cpu_median([*RUNLORE, "skill", "list", "--limit", "5"], environment)
        matched = cpu_median([*RUNLORE, "skill", "match", query], environment)
        figures = (searched, listed, matched, matched - searched)
        rows.append((f"{size:,}", *(f"{figure * 1_000:.0f}" for figure in figures)))
    print_table(
        (
            "skills",
            "memory search, CPU ms",
            "skill list, CPU ms",
            "skill match, CPU ms",
            "match beyond search",
        ),
        rows,
    )


def _environment(home: str) -> Mapping[str, str]:
    return {**os.environ, "RUNLORE_HOME": home, "RUNLORE_DATABASE_URL": ""}


def _named(skills: Iterator[tuple[SkillId, SkillDocument]]) -> Iterator[SkillDocument]:
    """The documents under names that a skill may have, each another one."""
    taken: set[str] = set()
    for _, document in skills:
        name = unique_name(slug(document.name) or "skill", taken)
        taken.add(name)
        yield SkillDocument(name=name, description=document.description[:1_024], body=document.body[:16_000])


def _fill(home: str, documents: Sequence[SkillDocument]) -> None:
    parts = open_parts(Settings(state_root=home))
    try:
        for start in range(0, len(documents), _AT_ONCE):
            _insert(parts, start, documents[start : start + _AT_ONCE])
        parts.library.refresh()
        # What the first look has written is seen by the second.
        parts.library.refresh()
    finally:
        parts.close()


def _insert(parts: Parts, start: int, documents: Sequence[SkillDocument]) -> None:
    with parts.store.transaction() as tx:
        for number, document in enumerate(documents, start=start):
            tx.skills.insert(
                Skill(
                    skill_id=SkillId(f"skl_{number:06}"),
                    document=document,
                    origin=SkillOrigin.LEARNED,
                    created_at=_MADE_AT,
                    updated_at=_MADE_AT,
                )
            )


if __name__ == "__main__":
    main()
