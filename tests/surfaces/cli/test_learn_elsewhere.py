"""Transcripts in a bucket: read as if they lay here, on from where they were left, and not where somebody
said no."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.ray_cluster import Bucket, serve_bucket
from tests.surfaces.transcripts import BEGAN_AT, add_turns, releases, write_session

pytestmark = pytest.mark.req("SCL-3", "INT-1")


@pytest.fixture(scope="module")
def server() -> Iterator[Bucket]:
    """One server for the module: a process that reads keeps its connection."""
    with pytest.MonkeyPatch.context() as patch, serve_bucket(patch) as bucket:
        yield bucket


@pytest.fixture
def bucket(server: Bucket) -> Bucket:
    """An empty bucket."""
    server.empty()
    return server


RULE = "Always run make check before you push to main."


def taught(told: Json) -> list[Json]:
    """What was found, without where it lay."""
    return [{"name": each["name"], "evidence": each["evidence"]} for each in told["suggestions"]]


def test_a_bucket_teaches_what_its_files_would_teach_here(
    embedded: Runlore, other: Runlore, tmp_path: Path, bucket: Bucket
) -> None:
    releases(tmp_path / "sessions")
    write_session(tmp_path / "sessions", "said", [(RULE, [])], began_at=BEGAN_AT)
    here = embedded.json("learn", "--dry-run", str(tmp_path / "sessions"))

    bucket.put(tmp_path / "sessions", "ada")
    # Written a moment ago, they may still be written: a dry run says so.
    assert embedded.json("learn", "--dry-run", "s3://transcripts/ada")["left"] == {"unfinished": 4}
    bucket.age()
    there = embedded.json("learn", "--dry-run", "s3://transcripts/ada")
    first = other.json("learn", "s3://transcripts/ada")
    second = other.json("learn", "s3://transcripts/ada")
    add_turns(tmp_path / "sessions" / "said.jsonl", [("Show the log.", [("make log", "", 0)])])
    bucket.put(tmp_path / "sessions", "ada")
    bucket.age()
    third = other.json("learn", "s3://transcripts/ada")

    assert taught(there) == taught(here) != []
    assert [each["text"] for each in there["statements"]] == [RULE]
    assert (there["runs"], there["lines"], there["bytes"]) == (here["runs"], here["lines"], here["bytes"])
    assert (first["stored"], first["unchanged"]) == (4, 0)
    assert (second["stored"], second["unchanged"]) == (0, 4)
    assert third["stored"] == 1


def test_whose_sessions_they_are_says_whose_wishes_and_who_says_no_is_not_read(
    embedded: Runlore, tmp_path: Path, bucket: Bucket
) -> None:
    for name, rule in {
        "ada": RULE,
        "grace": "I always prefer tabs.",
        "alan": "Never push on Fridays.",
    }.items():
        write_session(tmp_path / name / "projects", f"of-{name}", [(rule, [])])
    people = tmp_path / "people.toml"
    people.write_text('ada = ["s3://transcripts/ada"]\nalan = ["s3://transcripts/alan"]\n')

    bucket.put(tmp_path, "")
    bucket.write("alan/.runlore.toml", b"capture = false\n")
    bucket.age()
    told = embedded.json("learn", "--people", str(people))

    assert told["stored"] == 1
    assert [(each["path"], each["problem"]) for each in told["unsupported"]] == [
        ("s3://transcripts/alan/", "its owner has switched capture off")
    ]
    waiting = embedded.json("inbox")["items"]
    assert [each["title"] for each in waiting] == [RULE]
    record = embedded.json("memory", "show", waiting[0]["id"])
    assert record["scope"]["kind"] in ("persona", "project")
    session = embedded.json("session", "show", record["source"]["session_id"])
    assert session["persona_id"] == "ada"


@pytest.mark.req("SUR-2")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["s3://transcripts/nobody"], "learn.path"),
        (["nowhere://transcripts"], "learn.remote"),
        (["--people", "/nowhere.toml"], "learn.people"),
        (["--people", "/nowhere.toml", "s3://transcripts"], "usage"),
    ],
)
def test_what_cannot_be_reached_is_told_with_what_to_do(
    arguments: list[str], code: str, embedded: Runlore, bucket: Bucket
) -> None:
    failure = embedded.fails("learn", "--dry-run", *arguments)

    assert failure.code == code
    assert failure.problem["hint"]
    assert not embedded.home.exists()


@pytest.mark.req("SUR-2")
@pytest.mark.soak
def test_where_no_cluster_answers_it_is_told_with_what_to_do(embedded: Runlore) -> None:
    # In a process of its own, and for half a minute: Ray's client remembers where it could not connect.
    outcome = embedded.forked("learn", "--dry-run", "--on", "ray://127.0.0.1:1", "--json")

    problem = json.loads(outcome.err)
    assert (outcome.code, outcome.out, problem["code"]) == (3, "", "cluster.connect")
    assert "ray status" in problem["hint"]


def test_names_in_a_bucket_never_lead_out_of_the_folder_that_they_are_copied_to(
    embedded: Runlore, tmp_path: Path, bucket: Bucket
) -> None:
    session = write_session(tmp_path / "sessions", "one", [("Show the log.", [("make log", "", 0)])])
    for name in ("ada/../../out.jsonl", "ada//tmp/out.jsonl", "ada/one.jsonl"):
        bucket.write(name, session.read_bytes())
    bucket.age()
    told = embedded.json("learn", "--dry-run", "s3://transcripts/ada")

    assert told["runs"] == 1
    assert not list(tmp_path.parent.rglob("out.jsonl"))
    assert not os.path.exists("/tmp/out.jsonl")
