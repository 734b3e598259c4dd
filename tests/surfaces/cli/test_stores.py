"""A store that is missing, foreign, damaged or in use: what is said of it, and that it stays as it is."""

import fcntl
import json
import os
import stat
from pathlib import Path

import apsw
import psycopg
import pytest

from tests.surfaces.command_line import Runlore

SECRET = "hunter2-and-more"


@pytest.mark.req("SUR-6", "SUR-7")
@pytest.mark.parametrize("below", ["", "inner/home"])
def test_a_state_root_that_cannot_be_written_is_unavailable(below: str, clean_home: Path) -> None:
    blocked = clean_home / "blocked"
    blocked.write_text("a file stands here")
    runlore = Runlore(blocked / below)

    failure = runlore.fails("memory", "list")

    assert (failure.exit_code, failure.code) == (3, "store.root")
    assert str(blocked) in failure.problem["detail"]
    assert "--home or RUNLORE_HOME" in failure.problem["hint"]
    assert blocked.read_text() == "a file stands here"


@pytest.mark.req("SUR-6")
def test_a_folder_of_others_is_not_taken_over(clean_home: Path) -> None:
    folder = clean_home / "papers"
    folder.mkdir(mode=0o755)
    (folder / "letter.txt").write_text("dear")
    before = folder.stat().st_mode

    failure = Runlore(folder).fails("memory", "list")

    assert failure.code == "store.root"
    assert sorted(path.name for path in folder.iterdir()) == ["letter.txt"]
    assert folder.stat().st_mode == before


@pytest.mark.req("SUR-7")
def test_a_state_root_in_use_is_unavailable_after_five_seconds(embedded: Runlore) -> None:
    record_id = embedded.propose("editor", "vim")
    before = embedded.contents()
    with open(embedded.home / "lock", "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        failure = embedded.fails("memory", "review", "confirm", record_id)

    assert (failure.exit_code, failure.code) == (3, "store.locked")
    assert f"{embedded.home} is in use by" in failure.problem["detail"]
    assert embedded.contents() == before
    assert embedded.confirm(record_id)["state"] == "active"


@pytest.mark.req("SUR-7")
def test_a_database_that_another_program_holds_is_unavailable(embedded: Runlore) -> None:
    record_id = embedded.propose("editor", "vim")
    before = embedded.contents()
    other = apsw.Connection(str(embedded.home / "runlore.db"))
    other.execute("BEGIN IMMEDIATE")
    try:
        failure = embedded.fails("memory", "review", "confirm", record_id)
    finally:
        other.execute("ROLLBACK")
        other.close()

    assert (failure.exit_code, failure.code) == (3, "store.locked")
    assert embedded.contents() == before


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("damage", ["overwritten", "cut off", "scribbled", "foreign"])
def test_a_damaged_database_is_told_and_left_as_it_is(damage: str, embedded: Runlore) -> None:
    for number in range(40):
        embedded.propose(f"key {number}", "value " * 100)
    file = embedded.home / "runlore.db"
    _spoil(file, damage)
    before = file.read_bytes()

    failures = [
        embedded.fails("memory", "list", "--state", "constrained"),
        embedded.fails("memory", "export"),
    ]

    for failure in failures:
        assert failure.exit_code == 1
        assert failure.code == ("store.foreign" if damage == "foreign" else "store.damaged")
        assert str(file) in failure.problem["detail"]
        assert failure.problem["hint"]
    assert file.read_bytes() == before
    assert not list(embedded.home.glob("exports/*.json"))


@pytest.mark.req("SUR-7", "OPS-4")
def test_a_database_of_a_newer_runlore_is_left_alone(runlore: Runlore) -> None:
    runlore.prefer("editor", "vim")
    later = "INSERT INTO migrations (number, name, checksum) VALUES (99, 'later', 'x')"
    if runlore.database_url:
        with psycopg.connect(runlore.database_url) as server:
            server.execute(later)
    else:
        apsw.Connection(str(runlore.home / "runlore.db")).execute(later).fetchall()
    before = runlore.contents()

    failure = runlore.fails("memory", "profile", "propose", "--key", "a", "--value", "b", "--reason", "c")

    assert (failure.exit_code, failure.code) == (3, "store.newer-schema")
    assert "schema 99" in failure.problem["detail"]
    assert "update Runlore" in failure.problem["hint"]
    assert runlore.contents() == before


@pytest.mark.req("OPS-4", "SUR-7")
@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid", "%2Fnowhere"])
def test_an_unreachable_postgresql_is_unavailable_and_its_password_is_not_shown(
    host: str, clean_home: Path
) -> None:
    runlore = Runlore(clean_home / "runlore", f"postgresql://someone:{SECRET}@{host}/lore")

    failure, shown = runlore.fails("memory", "list"), runlore.run("memory", "list")

    assert (failure.exit_code, failure.code) == (3, "store.unreachable")
    assert "cannot be reached" in failure.problem["detail"]
    assert "RUNLORE_DATABASE_URL" in failure.problem["hint"]
    assert SECRET not in failure.said + shown.err + shown.out


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize(
    "url", [f"mysql://me:{SECRET}@db/lore", f"me:{SECRET}", f"postgresql://me:{SECRET}@h:port/x?y=z"]
)
def test_an_address_that_is_not_one_of_postgresql_is_invalid(url: str, clean_home: Path) -> None:
    failure = Runlore(clean_home / "runlore", url).fails("memory", "list")

    assert (failure.exit_code, failure.code) == (2, "store.url")
    assert "postgresql://USER@HOST/DATABASE" in failure.problem["hint"]
    assert SECRET not in failure.said


@pytest.mark.req("SUR-6")
@pytest.mark.parametrize(
    ("text", "code", "sentence", "hint"),
    [
        (b"colour = 1", "settings.field", "colour in ", "there are: database.url"),
        (b'[database]\nurll = "x"', "settings.field", "database.urll in ", "there are: database.url"),
        (b"[database]\nurl = 5", "settings.field", "database.url in ", "there are: database.url"),
        (b"database = 5", "settings.field", "database in ", "there are: database.url"),
        (b"[database\n", "settings.file", "is not TOML", "mend the line"),
        (b"\xff\xfe", "settings.file", "is not a text in UTF-8", "text editor"),
        (b"#" * (1 << 20) + b"#", "settings.file", "larger than 1 MiB", "not a settings file"),
    ],
)
def test_a_wrong_settings_file_is_refused_with_the_field_named(
    text: bytes, code: str, sentence: str, hint: str, embedded: Runlore
) -> None:
    embedded.home.mkdir(mode=0o700)
    (embedded.home / "config.toml").write_bytes(text)

    failure = embedded.fails("memory", "list")

    assert (failure.exit_code, failure.code) == (2, code)
    assert sentence in failure.problem["detail"]
    assert "config.toml" in failure.problem["detail"]
    assert hint in failure.problem["hint"]
    assert [path.name for path in embedded.home.iterdir()] == ["config.toml"]
    assert embedded.run("version").code == 0


@pytest.mark.req("SUR-6", "OPS-4")
def test_the_settings_file_names_the_database_and_the_environment_wins(
    embedded: Runlore, new_postgres_database: str
) -> None:
    embedded.home.mkdir(mode=0o700)
    (embedded.home / "config.toml").write_text(f"[database]\nurl = {json.dumps(new_postgres_database)}\n")

    assert embedded.json("status")["store"]["engine"] == "postgresql"
    other = Runlore(embedded.home, "postgresql://nobody@127.0.0.1:1/x")
    assert other.fails("status").code == "store.unreachable"


@pytest.mark.req("SUR-7")
def test_home_is_named_by_the_option_before_the_environment(embedded: Runlore, other: Runlore) -> None:
    embedded.prefer("editor", "vim")

    assert other.items("memory", "list", "--home", str(embedded.home))[0]["summary"] == "editor: vim"
    assert not other.home.exists()
    for wrong in ("", "  ", "a\0b"):
        assert embedded.fails("status", "--home", wrong).code == "settings.home"


@pytest.mark.req("SUR-6")
def test_without_runlore_home_the_state_root_is_in_the_home_folder(
    embedded: Runlore, clean_home: Path
) -> None:
    outcome = embedded.forked("status", "--json", environment={"RUNLORE_HOME": ""})
    homeless = embedded.forked("status", "--json", environment={"RUNLORE_HOME": "", "HOME": ""})

    assert json.loads(outcome.out)["state_root"] == str(clean_home / ".runlore")
    assert not embedded.home.exists()
    assert (homeless.code, homeless.out) == (2, "")
    assert json.loads(homeless.err)["code"] == "settings.home"


@pytest.mark.req("SUR-6")
def test_everything_under_the_state_root_is_private_whatever_the_umask(
    embedded: Runlore, tmp_path: Path
) -> None:
    findings = tmp_path / "findings.json"
    findings.write_text(
        json.dumps(
            [
                {
                    "summary": f"Finding {n}",
                    "repo_slug": "a/b",
                    "source_handle": "h",
                    "source_url": "https://u",
                }
                for n in range(300)
            ]
        )
    )
    for words in (
        ("memory", "radar", "add", "--file", str(findings)),
        ("memory", "search", "finding", "--include-stale"),
        ("memory", "export"),
    ):
        outcome = embedded.installed(*words, umask=0)
        assert outcome.code == 0, outcome.err

    modes = {
        str(path.relative_to(embedded.home)): stat.S_IMODE(path.stat().st_mode)
        for path in [embedded.home, *embedded.home.rglob("*")]
    }

    assert any(name.startswith("index/") for name in modes)
    assert any(name.startswith("exports/") for name in modes)
    folders = {name for name in modes if (embedded.home / name).is_dir()}
    assert {name: oct(modes[name]) for name in folders if modes[name] != 0o700} == {}
    assert {name: oct(modes[name]) for name in modes.keys() - folders if modes[name] != 0o600} == {}


def _spoil(file: Path, damage: str) -> None:
    size = file.stat().st_size
    if damage == "overwritten":
        file.write_bytes(b"not a database " * 1000)
    elif damage == "cut off":
        os.truncate(file, size // 2)
    elif damage == "foreign":
        file.unlink()
        connection = apsw.Connection(str(file))
        connection.execute("CREATE TABLE notes (text)").fetchall()
        connection.close()
    else:
        with open(file, "r+b") as spoiled:
            for page in range(4096, size, 4096):
                spoiled.seek(page)
                spoiled.write(b"\x5a" * 4000)
