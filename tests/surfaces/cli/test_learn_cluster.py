"""`runlore learn --on`: the machines of a Ray cluster read, and it comes to what one process reads."""

import os
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.mining.cluster import open_cluster
from runlore.daemon.mining.local_transcripts import AllTranscripts
from runlore.daemon.mining.store_runs import store
from runlore.daemon.wiring import open_embedded
from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.ray_cluster import serve_bucket, start_cluster
from tests.surfaces.transcripts import releases, write_session

pytestmark = pytest.mark.req("SCL-3")

RULE = "Always run make check before you push to main."


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, Path]:
    """Two people's machines: one release was made on the first, two on the second."""
    homes = {"build-1": tmp_path / "ada", "build-2": tmp_path / "grace"}
    sessions = releases(tmp_path / "all", 3)
    for home, paths in zip(homes.values(), (sessions[:1], sessions[1:]), strict=True):
        place = home / ".claude" / "projects" / "-srv-atlas"
        place.mkdir(parents=True)
        for path in paths:
            os.link(path, place / path.name)
    write_session(tmp_path / "all", "said", [(RULE, [])])
    os.link(
        tmp_path / "all" / "said.jsonl",
        homes["build-2"] / ".claude" / "projects" / "-srv-atlas" / "said.jsonl",
    )
    return homes


def test_two_machines_teach_what_one_process_would_and_what_is_known_is_not_read_again(
    embedded: Runlore, homes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = embedded.json("learn", "--dry-run", str(tmp_path / "all"))
    with serve_bucket(monkeypatch) as bucket, start_cluster(homes) as cluster:
        bucket.put(tmp_path / "all", "")
        bucket.age()
        on = ("--on", cluster.address)
        together = embedded.json("learn", "--dry-run", *on)
        of_bucket = embedded.json("learn", "--dry-run", *on, "s3://transcripts")
        first = embedded.json("learn", *on)
        second = embedded.json("learn", *on)

    for told in (together, of_bucket):
        assert teachings(told) == teachings(alone)
    assert (first["stored"], first["known"], first["unchanged"]) == (4, 0, 0)
    assert (second["stored"], second["known"], second["unchanged"]) == (0, 0, 4)


def test_a_machine_that_is_lost_is_told_of_and_read_when_it_is_back(
    embedded: Runlore, homes: dict[str, Path]
) -> None:
    with start_cluster(homes) as cluster, open_cluster(cluster.address) as machines:
        sources = machines.find(())
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        read = machines.read_all(sources, lambda _done, _total: None)
        with open_embedded(Settings(state_root=str(embedded.home))) as operations:
            first = store(operations, AllTranscripts(), sources, read=machines.read_on)
    with start_cluster(homes) as cluster:
        second = embedded.json("learn", "--on", cluster.address)

    lost = [source.path for source in sources if source.path.startswith("node://build-2/")]
    assert len(lost) == 3
    assert [source.path for source, told in read if any("was lost" in each for each in told.problems)] == lost
    assert first.stored == 1
    assert [each.path for each in first.reading.unread] == lost
    assert all("the machine build-2 was lost" in each.problem for each in first.reading.unread)
    assert (second["stored"], second["known"], second["unchanged"]) == (3, 0, 1)


def teachings(told: Json) -> list[object]:
    """What was found, without where it lay."""
    suggestions = [(each["name"], each["evidence"], each["score"]) for each in told["suggestions"]]
    assert suggestions
    return [suggestions, told["statements"], told["sessions"], told["runs"], told["lines"], told["bytes"]]
