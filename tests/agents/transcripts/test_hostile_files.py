"""Files that were made to harm: whoever reads them takes bounded time and memory, and goes on."""

import gzip
import os
import time
from pathlib import Path

import apsw
import pytest

from runlore.agents.transcripts.discovery import ELSEWHERE
from runlore.agents.transcripts.lines import DAMAGED, TOO_CROWDED, Lines, is_crowded, open_unpacked, whole_of
from runlore.agents.transcripts.opencode import TOO_LARGE, TOO_MANY, UNREADABLE, OpencodeDatabase
from runlore.domain import limits
from runlore.domain.runs.transcript import ReadCounts, ToldRun
from runlore.domain.text.safe_text import is_storable
from tests.agents.transcripts.opencode_store import SCHEMA, Told, bash, put_database, text
from tests.agents.transcripts.transcript_files import LONG_AGO, dated, found, inputs, local, read, write

pytestmark = pytest.mark.req("INT-1")

MESSAGES = "CREATE TABLE message (id, session_id, time_created, data);"
PARTS = "CREATE TABLE part (id, message_id, session_id, time_updated, data);"
ENDLESS = """
    CREATE VIEW session AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
    SELECT x AS id, 1 AS time_created, 1 AS time_updated FROM n;
"""


def database(path: Path, script: str) -> Path:
    connection = apsw.Connection(str(path))
    connection.execute(script)
    connection.close()
    return dated(path, LONG_AGO)


def packed(path: Path, *parts: bytes) -> Path:
    with gzip.open(path, "wb", compresslevel=6) as file:
        for part in parts:
            file.write(part)
    return dated(path, LONG_AGO)


def test_a_view_is_no_table_so_one_without_end_is_never_asked(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", ENDLESS + MESSAGES + PARTS)
    began = time.process_time()
    assert all(source.agent is None for source in local().find([str(path)]))
    assert time.process_time() - began < 5


def test_a_database_that_takes_too_long_is_told_as_one_that_cannot_be_read(tmp_path: Path) -> None:
    path = put_database(tmp_path / "opencode.db", Told().user(text("Build it")))
    source = found(path)
    connection = apsw.Connection(str(path))
    connection.execute("DROP TABLE session; " + ENDLESS)
    connection.close()
    began = time.monotonic()
    [told] = OpencodeDatabase(str(path), seconds_max=0.2).sources(source)
    assert time.monotonic() - began < 10
    assert (told.agent, told.problem) == (None, UNREADABLE)


def test_no_more_sessions_and_bytes_are_read_of_a_database_than_are_allowed(tmp_path: Path) -> None:
    sessions = [Told(id=f"ses_{n}").user(text("a" * 100)).user(text("b" * 100)) for n in range(4)]
    path = put_database(tmp_path / "opencode.db", *sessions)
    source = next(iter(local().find([str(path)])))
    told = list(OpencodeDatabase(str(path), sessions_max=3).sources(source))
    assert [each.part for each in told if each.agent] == ["ses_0", "ses_1", "ses_2"]
    assert [each.problem for each in told if not each.agent] == [TOO_MANY]
    counts = ReadCounts()
    with OpencodeDatabase(str(path), "ses_0", bytes_max=100).open(counts) as session:
        assert session is not None
        assert len([list(message.parts) for message in session.messages]) == 1
    assert counts.skipped == {TOO_LARGE: 1}


@pytest.mark.parametrize("column", ["id", "directory", "title"])
def test_text_in_a_database_that_is_no_utf_8_is_read_all_the_same(tmp_path: Path, column: str) -> None:
    path = put_database(tmp_path / "opencode.db", Told().user(text("Build it")).assistant(bash("c", "make")))
    connection = apsw.Connection(str(path))
    connection.execute(f"UPDATE session SET {column} = CAST(x'41ff42' AS TEXT)")
    if column == "id":
        connection.execute("UPDATE message SET session_id = CAST(x'41ff42' AS TEXT)")
    connection.close()
    [run] = read(dated(path, LONG_AGO))
    assert inputs([run]) == ["Build it"]
    assert all(map(is_storable, (run.source_session, run.folder, run.title)))


def test_data_in_a_database_that_is_no_utf_8_costs_that_row_alone(tmp_path: Path) -> None:
    path = put_database(tmp_path / "opencode.db", Told().user(text("One")).user(text("Two")))
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE message SET data = CAST(x'ff' AS TEXT) WHERE id LIKE '%000'")
    connection.close()
    counts = ReadCounts()
    assert inputs(read(dated(path, LONG_AGO), counts)) == ["Two"]
    assert counts.lines_skipped == 1


def test_a_table_name_that_is_no_utf_8_ends_no_search(tmp_path: Path) -> None:
    script = (
        SCHEMA
        + "PRAGMA writable_schema=1; UPDATE sqlite_master SET name=CAST(x'ff' AS TEXT) WHERE name='part';"
    )
    database(tmp_path / "x.db", script)
    write(tmp_path / "y.jsonl", [{"role": "user", "content": "hi"}])
    assert [Path(each.path).name for each in local().find([str(tmp_path)]) if each.agent] == ["y.jsonl"]


def test_a_line_of_brackets_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    crowded = b'{"role":"assistant","content":[' + b"{}," * 600_000 + b"{}]}"
    assert len(crowded) < limits.TRANSCRIPT_LINE_BYTES_MAX
    user = {"role": "user", "content": "hi"}
    counts = ReadCounts()
    long = {"role": "assistant", "content": "x" * 2_000_000}
    runs = read(write(tmp_path / "a.jsonl", [user, long, crowded, user]), counts)
    assert [len(run.events) for run in runs] == [2, 1]
    assert counts.skipped == {TOO_CROWDED: 1}


@pytest.mark.parametrize(
    ("content", "is_too_much"), [(b"{},", True), (b"[a]", False), (b"xyz", False), (b",[{", True)]
)
def test_brackets_and_commas_are_what_makes_a_line_crowded(content: bytes, is_too_much: bool) -> None:
    assert is_crowded(content * 10, 15) is is_too_much
    assert not is_crowded(content * 5, 15)


def test_a_document_of_brackets_or_beyond_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"[" + b"{}," * 100 + b"{}]")
    assert whole_of(str(path)) is not None
    assert whole_of(str(path), marks_max=100) is None
    assert whole_of(str(path), bytes_max=100) is None


def test_an_archive_is_unpacked_only_so_far_as_honest_ones_are_packed(tmp_path: Path) -> None:
    size = limits.UNPACKED_RATIO_FROM_BYTES
    first = b'{"role":"user","content":"x"}\n'
    path = packed(tmp_path / "a.jsonl.gz", first, *([b"\0" * 1024**2] * (2 * size // 1024**2)))
    counts = ReadCounts()
    assert inputs(read(path, counts)) == ["x"]
    assert counts.skipped == {DAMAGED: 1}


def test_blank_lines_are_passed_over_together_and_counted_one_by_one(tmp_path: Path) -> None:
    for blanks in [0, 1, 63, 64, 65, 66, 1_000, 300_000]:
        content = b"a\n" + b"\n" * blanks + b"b\n\n \nc"
        path = tmp_path / "lines"
        path.write_bytes(content)
        counts = ReadCounts()
        with open_unpacked(str(path)) as file:
            lines = Lines(file, counts)
            told = [(line, lines.start, lines.number) for line in lines]
        starts = [(b"a\n", 0, 0), (b"b\n", 2 + blanks, 1 + blanks), (b"c", len(content) - 1, blanks + 4)]
        assert told == starts
        assert (counts.lines, counts.bytes) == (blanks + 5, len(content))


def test_many_blank_lines_take_no_time(tmp_path: Path) -> None:
    path = packed(tmp_path / "n", b"\n" * 12_000_000)
    began = time.process_time()
    with open_unpacked(str(path)) as file:
        assert list(Lines(file, ReadCounts())) == []
    assert time.process_time() - began < 2


def test_going_back_in_a_gemini_session_takes_as_long_as_what_is_taken_back(tmp_path: Path) -> None:
    count = 15_000
    lines: list[object] = [{"sessionId": "s", "projectHash": "h"}]
    lines += [{"id": str(n), "type": "user", "content": f"w{n}"} for n in range(count)]
    for _ in range(count):
        lines += [{"$rewindTo": str(count - 1)}, {"id": str(count - 1), "type": "user", "content": "last"}]
    path = write(
        tmp_path / "session.jsonl",
        [*lines, {"$rewindTo": "2"}, {"id": "x", "type": "user", "content": "end"}],
    )
    began = time.process_time()
    assert inputs(read(path)) == ["w0", "w1", "end"]
    assert time.process_time() - began < 2


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08\x00garbage garbage", b"\xff\xfe", b"/srv/\x00x", b""])
def test_whatever_names_a_gemini_project_ends_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".project_root").write_bytes(content)
    [run] = gemini_runs(tmp_path)
    assert is_storable(run.folder)


def test_a_pipe_that_stands_for_a_gemini_project_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".project_root")
    assert [run.folder for run in gemini_runs(tmp_path)] == [""]


def gemini_runs(folder: Path) -> list[ToldRun]:
    told = {"sessionId": "s", "projectHash": "h", "messages": [{"id": "1", "type": "user", "content": "hi"}]}
    return read(write(folder / "chats" / "session-1.json", [told]))


@pytest.mark.parametrize("depth", [40, 900, 1_015])
def test_a_trajectory_of_any_depth_is_read(tmp_path: Path, depth: int) -> None:
    nested = b"[" * depth + b'"x"' + b"]" * depth
    step = b'{"action":"make","observation":"ok","x":' + nested + b"}"
    user = b'{"role":"user","content":' + nested + b"}"
    path = tmp_path / "a.traj"
    path.write_bytes(b'{"trajectory":[' + step + b'],"history":[' + user + b"]}")
    [run] = read(dated(path, LONG_AGO))
    assert len(run.events) == 3


def test_a_link_to_a_folder_elsewhere_is_told_once_and_not_followed(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "hi"}]
    write(tmp_path / "elsewhere" / "one.jsonl", chat)
    write(tmp_path / "here" / "in" / "two.jsonl", chat)
    for name in ("a", "b"):
        (tmp_path / "here" / name).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "here" / "own").symlink_to(tmp_path / "here" / "in")
    (tmp_path / "here" / "file.jsonl").symlink_to(tmp_path / "elsewhere" / "one.jsonl")
    sources = list(local().find([str(tmp_path / "here")]))
    assert [source.problem for source in sources if source.agent is None] == [ELSEWHERE]
    assert sorted(Path(source.path).name for source in sources if source.agent) == ["file.jsonl", "two.jsonl"]


def test_a_link_that_is_named_itself_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "one.jsonl", [{"role": "user", "content": "hi"}])
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert [source.problem for source in local().find([str(tmp_path / "link")])] == [""]


def test_a_file_whose_name_is_no_text_is_found_and_read(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/pl\xff.jsonl"
    with open(path, "wb") as file:
        file.write(b'{"role":"user","content":"hi"}\n')
    os.utime(path, (LONG_AGO.timestamp(),) * 2)
    [source] = local().find([str(tmp_path)])
    [run] = local().read(source, ReadCounts())
    assert is_storable(run.source_session)
    assert all(is_storable(str(each)) for pair in run.after.carried.items() for each in pair)
