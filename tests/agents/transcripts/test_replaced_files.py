"""A file that holds another conversation by now is read from its beginning, and that is another session."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.agents.transcripts.lines import fingerprint, fits, last_before, open_unpacked
from runlore.domain.runs.transcript import START, Position
from tests.agents.transcripts.transcript_files import LONG_AGO, dated, inputs, read, write
from tests.examples import scaled

pytestmark = pytest.mark.req("INT-1")

# Longer than what is compared of the beginning of a file.
PROMPT = {"role": "system", "content": "You are a helpful agent. " * 60}


def conversation(*inputs: str) -> list[object]:
    """What was said, under the same long prompt as everywhere."""
    told: list[object] = [PROMPT]
    for words in inputs:
        told += [{"role": "user", "content": words}, {"role": "assistant", "content": f"done: {words}"}]
    return told


words = st.lists(st.text("abc ", min_size=1, max_size=9), min_size=1, max_size=4)


@settings(max_examples=scaled(40))
@given(before=words, after=words, place=st.integers(0, 3))
def test_whatever_replaces_a_conversation_is_told_whole(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str], place: int
) -> None:
    path = tmp_path_factory.mktemp("chats") / "chat.jsonl"
    old = read(write(path, conversation(*before)))
    position = old[min(place, len(old) - 1)].after
    write(path, conversation(*after))
    anew = read(path)
    told = read(path, start=position)
    if before[0] != after[0]:
        assert told == anew
        assert not {run.run_id for run in old} & {run.run_id for run in told}
        assert {run.session_id for run in told}.isdisjoint(run.session_id for run in old)
    elif after[: len(before)] == before:
        assert {run.session_id for run in told} <= {run.session_id for run in old}
        assert told == [run for run in anew if run.run_id not in {one.run_id for one in old[: place + 1]}]


def test_a_conversation_that_grows_stays_the_same_session(tmp_path: Path) -> None:
    said = [f"Step {number}" for number in range(6)]
    position, told = START, []
    for count in range(1, len(said) + 1):
        new = read(write(tmp_path / "chat.jsonl", conversation(*said[:count])), start=position)
        assert inputs(new) == [said[count - 1]]
        told += new
        position = new[-1].after
    assert len({run.session_id for run in told}) == 1
    assert [run.ordinal for run in told] == [1, 2, 3, 4, 5, 6]


def test_the_same_words_in_another_file_are_another_session(tmp_path: Path) -> None:
    one, other = (read(write(tmp_path / name, conversation("Build")))[0] for name in ("a.jsonl", "b.jsonl"))
    assert one.session_id != other.session_id


@given(content=st.binary(min_size=1, max_size=3_000), offset=st.integers(1, 3_000), at=st.integers(0, 3_000))
@settings(max_examples=scaled(60))
def test_a_change_shortly_before_the_offset_is_seen(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, offset: int, at: int
) -> None:
    offset = min(offset, len(content))
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(content)
    with open_unpacked(str(path)) as file:
        last = last_before(file, offset)
    assert last == content[max(0, offset - 256) : offset] or content[:2] == b"\x1f\x8b"
    position = Position(offset=offset, fingerprint=fingerprint(content, offset, last))
    assert fits(content, position, last)
    if last and at < len(last):
        changed = last[:at] + bytes([last[at] ^ 1]) + last[at + 1 :]
        assert not fits(content, position, changed)


def test_a_packed_file_is_read_on_too(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.jsonl", conversation("One", "Two")).read_bytes()
    more = write(tmp_path / "more.jsonl", conversation("One", "Two", "Three")).read_bytes()
    path = tmp_path / "chat.jsonl.gz"
    path.write_bytes(gzip.compress(plain))
    position = read(dated(path, LONG_AGO))[-1].after
    path.write_bytes(gzip.compress(more))
    assert inputs(read(dated(path, LONG_AGO), start=position)) == ["Three"]
