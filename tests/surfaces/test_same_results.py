"""The same commands give the same documents and exit codes embedded, through the socket, and by URL."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from runlore.client.connect import choose_settings, open_operations
from runlore.domain.run import ArtifactId, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.surfaces.command_line import Runlore
from tests.surfaces.skill_files_of import skill_md
from tests.surfaces.skill_runs import to_import, told_run
from tests.surfaces.told_story import Story, differences, document

pytestmark = [pytest.mark.req("SUR-1"), pytest.mark.req("SUR-2"), pytest.mark.req("SUR-7")]

WAYS = ("embedded", "socket", "url")


class Place(Runlore):
    """A command line that finds its Runlore in one of the three ways."""

    def __init__(self, home: Path, database_url: str | None, **more: str) -> None:
        super().__init__(home, database_url)
        self.more = more

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name its state, and its address where it has one."""
        return {**super().environment, **self.more}


@contextmanager
def places(way: str, home: Path, database_url: str | None) -> Iterator[Place]:
    """A state root that a daemon has served, and how it is reached now."""
    place = Place(home, database_url)
    place.serve()
    try:
        daemon = document((home / "daemon.json").read_text())
        if way == "embedded":
            assert place.run("down").code == 0
        elif way == "url":
            token = (home / "operator.token").read_text().strip()
            place = Place(home / "nothing-here", None, RUNLORE_URL=str(daemon["url"]), RUNLORE_TOKEN=token)
            place.home = home
        yield place
    finally:
        if way != "embedded":
            assert Runlore(home, database_url).run("down").code == 0


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def test_a_story_is_told_in_the_same_words_in_all_three_ways(
    engine: str, clean_home: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    told = {}
    for way in WAYS:
        with ExitStack() as stack:
            url = None
            if engine == "postgres":
                pool = request.getfixturevalue("postgres_pool")
                url = stack.enter_context(pool.database())
            place = stack.enter_context(places(way, clean_home / way, url))
            story = Story(place)
            records(story)
            sessions(story)
            learnings(story)
            skills(story)
            service(story, tmp_path / way)
            mistakes(story)
            told[way] = story.told
    assert len(told["embedded"]) > 60
    for way in ("socket", "url"):
        assert differences(told["embedded"], told[way]) == [], way


def records(story: Story) -> None:
    """Proposing, reviewing, undoing, forgetting."""
    first = story.done(
        "memory", "profile", "propose", "--key", "editor", "--value", "vim ✓", "--reason", "so"
    )
    story.done("memory", "review", "list")
    story.done("memory", "review", "confirm", first["record_id"], "--reason", "yes")
    second = story.done(
        "memory", "profile", "propose", "--key", "editor", "--value", "nano", "--reason", "changed"
    )
    story.done("memory", "review", "list")
    story.done("memory", "review", "confirm", second["record_id"])
    story.done("memory", "rollback", second["record_id"], "--restore")
    story.run("memory", "restore", first["record_id"])
    story.done("memory", "episode", "add", "It went well", "--metadata", '{"a": [1, {"b": null}]}')
    source = ("--repo-slug", "a/b", "--source-handle", "hn", "--source-url", "https://example.org/1")
    for summary in ("Pin the base image", "Pin the base image tag"):
        added = story.done("memory", "radar", "add", "--summary", summary, *source)
        story.done("memory", "review", "confirm", added["items"][1]["record_id"])
    adopted = story.done("memory", "radar", "adopt", added["items"][1]["record_id"], "--workflow", "build")
    story.done("memory", "radar", "log")
    story.done("memory", "radar", "undo", added["items"][1]["record_id"])
    story.done("memory", "inspect", adopted["procedure"]["record_id"])
    story.done("memory", "semantic", "compact")
    story.done("memory", "semantic", "compact", "--create-proposals")
    story.done("memory", "procedural", "dedup")
    story.done("memory", "list", "--state", "active", "--state", "superseded", "--limit", "3")
    page = story.done("memory", "list", "--limit", "1")
    story.done("memory", "list", "--limit", "1", "--cursor", page["next_cursor"])
    story.done("memory", "search", "base image ✓")
    story.done("memory", "search", "vim", "--include-stale")
    story.done("memory", "context", "choose an editor")
    story.done("memory", "history", first["record_id"])
    story.done("memory", "states")
    story.done("memory", "forget", second["record_id"], "--dry-run")
    story.done("memory", "forget", second["record_id"], "--yes")
    story.done("memory", "inspect", second["record_id"])


def sessions(story: Story) -> None:
    """A session with a run, and everything that can be read of it."""
    story.done("session", "persona", "put", "ada/1", "--name", "Ada")
    story.done("session", "create", "--id", "s/1", "--title", "Talk ✓", "--persona", "ada/1", "--agent", "x")
    story.done("session", "create", "--id", "s/1", "--title", "Talk ✓", "--persona", "ada/1", "--agent", "x")
    story.done("session", "change", "s/1", "--project", "acme", "--no-persona")
    story.done("session", "create", "--private")
    story.done("session", "create", "--id", "s/2")
    report(story.place)
    settle(story.place)
    for words in (
        ("session", "list"),
        ("session", "show", "s/1"),
        ("session", "runs", "s/1"),
        ("session", "runs", "--status", "completed"),
        ("session", "journal", "s/1"),
        ("session", "journal", "s/1", "--limit", "2"),
        ("session", "context", "s/1"),
        ("session", "context", "s/1", "--query", "vim"),
        ("session", "search", "s/1", "vim"),
        ("session", "preview", "s/1", "which editor: vim?"),
        ("session", "persona", "list"),
        ("session", "persona", "show", "ada/1"),
        ("session", "run", "show", "run/1"),
        ("session", "run", "journal", "run/1"),
        ("session", "run", "scratch", "run/1"),
        ("session", "run", "artifacts", "run/1"),
        ("session", "run", "artifact", "diff/1"),
        ("why", "run/1"),
        ("session", "end", "s/1"),
        ("memory", "forget", "run/1", "--dry-run"),
        ("memory", "forget", "run/1"),
        ("memory", "forget", "run/1", "--yes"),
        ("session", "run", "show", "run/1"),
    ):
        story.run(*words)


def learnings(story: Story) -> None:
    """A candidate that a person makes, what becomes of it, and what automation would do."""
    made = story.done("learning", "candidates", "create", "The codename is Atlas ✓", "--kind", "fact")
    other = story.done(
        *("learning", "candidates", "create", "Deploys wait for ada", "--kind", "decision"),
        *("--scope", "project:acme", "--evidence", "run=run/1,note=it, too", "--confidence", "91"),
    )
    settle(story.place)
    story.done("learning", "candidates", "list", "--text", "codename")
    story.done("learning", "candidates", "get", made["record_id"])
    story.done("learning", "candidates", "publish", made["record_id"], "--tier", "provisional")
    story.done("learning", "verify", made["record_id"], "--on-my-word", "--reason", "I know it")
    newer = story.done("learning", "supersede", made["record_id"], "The codename is Borea")
    story.done("learning", "candidates", "publish", other["record_id"], "--content", "Deploys wait for bob")
    give(story.place)
    for words in (
        ("learning", "get", newer["record_id"]),
        ("learning", "list"),
        ("learning", "list", "--scope-kind", "project", "--decision", "manual", "--actor", "operator"),
        ("learning", "feedback", newer["record_id"], "wrong", "--run", "run/2", "--note", "it is Caldera"),
        ("learning", "feedback", newer["record_id"], "wrong", "--run", "run/1"),
        ("memory", "review", "list"),
        ("learning", "verify", newer["record_id"], "--on-my-word"),
        ("learning", "revoke-matching"),
        ("learning", "revoke-matching", "--text", "wait for", "--dry-run"),
        ("learning", "revoke-matching", "--text", "wait for", "--reason", "left", "--yes"),
        ("learning", "clear-origin", "https://example.org/page", "--dry-run"),
        ("learning", "clear-origin", "https://example.org/page", "--yes"),
        ("learning", "revoke", newer["record_id"], "--reason", "renamed"),
        ("learning", "revoke", newer["record_id"]),
        ("learning", "supersede", newer["record_id"], "The codename is Caldera"),
        ("learning", "candidates", "create", "It ran", "--kind", "run_summary"),
        ("learning", "candidates", "reject", made["record_id"]),
        ("learning", "candidates", "get", "none"),
        ("policy", "show", "learning"),
        ("policy", "set", "learning", "--set", "mode=enabled"),
        ("policy", "set", "learning", "--set", "mode=bold"),
        ("policy", "history", "learning"),
        ("policy", "rollback", "learning"),
        ("capture", "backfill", "--dry-run"),
        ("capture", "delete-memories"),
        ("capture", "delete-memories", "--dry-run"),
    ):
        story.run(*words)
    settle(story.place)


def skills(story: Story) -> None:
    """Runs of another agent, what they suggest, and what is decided about it."""
    settings = choose_settings(home=None, url=None, token_file=None, environment=story.place.environment)
    with open_operations(settings) as operations:
        operations.import_runs(to_import(told_run(1), told_run(2)))
        found = operations.suggest(ops.SuggestRequest())
    first, other = (stored.suggestion for stored in found.new)
    for words in (
        ("list",),
        ("list", "--limit", "1"),
        ("list", "--heuristic", first.heuristic, "--state", "waiting", "--state", "skipped"),
        ("show", first.name),
        ("skip", first.name),
        ("skip", first.name),
        ("list", "--state", "skipped"),
        ("list",),
        ("reset", first.name),
        ("reset", other.name),
        ("list", "--state", "lost"),
        ("list", "--cursor", "what?"),
        ("show", "none"),
        ("skip", ""),
        ("reset", "\udcff"),
    ):
        story.run("skill", "suggestions", *words)
    library(story, first.name, other.name)


def library(story: Story, first: str, other: str) -> None:
    """What is kept as skills, and what becomes of them."""
    file = story.place.home.parent / "tidy-up.md"
    file.write_text(skill_md())
    for words in (
        ("save",),
        ("save", first),
        ("save", first, "--accept-untrusted"),
        ("save", other, "--name", "publish-it", "--accept-untrusted"),
        ("list",),
        ("view", first),
        ("match", "publish the package"),
        ("import", str(file)),
        ("list", "--origin", "imported"),
        ("promote", "tidy-up"),
        ("promote", "tidy-up", "--force", "--reason", "read it"),
        ("match", "tidy the workspace", "--limit", "1"),
        ("skip", "publish-it"),
        ("curate",),
        ("curate", "--apply"),
        ("curations",),
        ("undo",),
        ("undo",),
        ("reset-skips",),
        ("reset-skips", first),
        ("delete", "tidy-up"),
        ("delete", "tidy-up"),
        ("list", "--state", "deleted"),
        ("restore", "tidy-up"),
        ("log",),
        ("log", "tidy-up", "--limit", "2"),
        ("view", "none"),
        ("save", "none"),
        ("skip", ""),
        ("skip", "tidy-up"),
        ("promote", "\udcff"),
        ("undo", "none"),
        ("list", "--state", "lost"),
        ("list", "--session", "none"),
        ("log", "--cursor", "what?"),
        ("match", ""),
        ("import", str(file.parent / "missing")),
        ("unmount",),
    ):
        story.run("skill", *words)


def settle(place: Runlore) -> None:
    """Let what was queued be done, by a daemon or by this call, so that it does not matter who is first."""
    for _ in range(200):
        queued = [
            job for job in place.items("jobs", "list") if job["kind"] in {"capture", "review", "verify"}
        ]
        if not queued:
            return
        assert {job["state"] for job in queued} <= {"waiting", "leased"}, queued
        place.json("jobs", "work")
    raise AssertionError("the jobs are never done")


def give(place: Runlore) -> None:
    """A run that is given what was learned."""
    settings = choose_settings(home=None, url=None, token_file=None, environment=place.environment)
    with open_operations(settings) as operations:
        operations.open_run(
            ops.NewRun(
                session_id=SessionId("s/2"),
                request="What is the codename?",
                run_id=RunId("run/2"),
                context=True,
            )
        )


def report(place: Runlore) -> None:
    """A run, as an agent reports it, over whichever way there is."""
    settings = choose_settings(home=None, url=None, token_file=None, environment=place.environment)
    with open_operations(settings) as operations:
        run_id = RunId("run/1")
        operations.open_run(
            ops.NewRun(session_id=SessionId("s/1"), request="Use vim or nano?", run_id=run_id, context=True)
        )
        message = {"type": "assistant_message", "text": "vim ✓"}
        operations.append_events(ops.NewEvents(run_id=run_id, events=(message,)))
        operations.add_artifact(
            ops.NewArtifact(run_id=run_id, name="diff", text="+1\n", artifact_id=ArtifactId("diff/1"))
        )
        operations.add_checkpoint(ops.NewCheckpoint(session_id=SessionId("s/1"), text="vim it is"))
        operations.finish_run(ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED))


def service(story: Story, folder: Path) -> None:
    """Policies, tokens, capture, jobs, files."""
    folder.mkdir()
    for words in (
        ("policy", "show", "run-memory"),
        ("policy", "set", "run-memory", "--set", "retention_days=3"),
        ("policy", "set", "run-memory", "--set", "retention_days=0"),
        ("policy", "history", "run-memory"),
        ("policy", "rollback", "run-memory"),
        ("capture", "pause"),
        ("capture", "status"),
        ("capture", "resume"),
        ("token", "create", "bot", "--role", "agent", "--scope", "project:acme"),
        ("token", "create", "bot", "--role", "reader"),
        ("token", "list"),
        ("token", "revoke", "bot"),
        # What waits or runs is the business of whoever works at that moment.
        ("jobs", "list", "--state", "dead"),
        ("version",),
    ):
        story.run(*words)
    exported = story.done("memory", "export")
    copy = folder / "export.json"
    copy.write_bytes(Path(exported["path"]).read_bytes())
    story.done("memory", "import", str(copy))
    status = story.place.json("status")
    parts = {name: status[name] for name in ("version", "records", "waiting", "policies", "capture")}
    story.told.append((("status",), 0, story.plain(repr(parts)), ""))


def mistakes(story: Story) -> None:
    """What is refused: each with its exit code, and the same words."""
    waiting = story.done("memory", "profile", "propose", "--key", "k", "--value", "v", "--reason", "r")
    record_id = waiting["record_id"]
    codes = [
        story.run(*words).code
        for words in (
            ("memory", "inspect", "rec_none"),
            ("memory", "inspect", ""),
            ("memory", "inspect", "a/../b?c#d%2F é"),
            ("memory", "inspect", "\udcff"),
            ("memory", "list", "--limit", "0"),
            ("memory", "list", "--limit", "501"),
            ("memory", "list", "--cursor", "what"),
            ("memory", "search", " "),
            ("memory", "search", "x" * 4_001),
            ("memory", "search", "\udcff"),
            ("memory", "review", "confirm", record_id, "--expected-revision", "9"),
            ("memory", "review", "confirm", record_id, "--expected-revision", "-1"),
            ("memory", "review", "confirm", record_id, "--supersedes", "rec_none"),
            ("memory", "rollback", record_id),
            ("memory", "restore", record_id),
            ("memory", "review", "reject", record_id, "--reason", "x" * 1_001),
            ("memory", "review", "reject", record_id, "--idempotency-key", " "),
            (
                "memory",
                "profile",
                "propose",
                "--key",
                "k",
                "--value",
                "v",
                "--reason",
                "r",
                "--confidence",
                "101",
            ),
            ("memory", "profile", "propose", "--key", "k", "--value", "\udcff", "--reason", "r"),
            ("memory", "episode", "add", "x", "--kind", "fact"),
            ("memory", "import", "/nowhere/at/all"),
            ("memory", "import", "/dev/null"),
            ("session", "show", "none"),
            ("session", "create", "--project", " "),
            ("session", "create", "--id", "s/1", "--title", "another"),
            ("session", "journal", "none"),
            ("session", "search", "none", "x"),
            ("session", "search", "s/1", "x", "--limit", "51"),
            ("session", "run", "show", ""),
            ("session", "persona", "show", "nobody"),
            ("why", "none"),
            ("policy", "set", "run-memory", "--set", "what=1"),
            ("policy", "rollback", "retention"),
            ("token", "revoke", "nobody"),
            ("token", "create", " ", "--role", "agent"),
            ("jobs", "retry", "none"),
            ("memory", "forget", "none"),
        )
    ]
    assert set(codes) == {2, 5, 6}
