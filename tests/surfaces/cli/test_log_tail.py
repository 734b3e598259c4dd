"""The end of a log, and what is added to it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.cli import background
from runlore.cli.background import Tail, follow, last_lines

pytestmark = pytest.mark.req("SUR-7")

LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=300))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs") / "daemon.log"


@given(lines=LINES, number=st.integers(0, 50), unfinished=st.sampled_from(["", "not yet whole"]))
def test_the_last_lines_are_the_last_whole_ones(
    log: Path, lines: list[str], number: int, unfinished: str
) -> None:
    log.write_text("".join(f"{line}\n" for line in lines) + unfinished)

    assert last_lines(str(log), number).lines == (lines[-number:] if number else [])


def test_a_long_log_is_read_from_its_end(log: Path) -> None:
    lines = [f"{number} {'x' * 1_000}" for number in range(1_000)]
    log.write_text("\n".join(lines) + "\n")

    assert last_lines(str(log), 300).lines == lines[-300:]
    assert last_lines(str(log), 5_000).lines == lines


@given(first=LINES, then=LINES.filter(bool))
def test_what_is_added_is_followed_from_where_the_tail_ended(
    log: Path, first: list[str], then: list[str]
) -> None:
    log.write_text("".join(f"{line}\n" for line in first))
    tail = last_lines(str(log), 3)
    with log.open("a") as file:
        file.write("".join(f"{line}\n" for line in then))

    assert collected(log, tail, len(then)) == then


@pytest.mark.parametrize("how", ["replaced", "cut"])
def test_a_rotated_log_is_followed_from_its_beginning(log: Path, how: str) -> None:
    log.write_text("old\n" * 100)
    tail = last_lines(str(log), 1)
    if how == "replaced":
        log.rename(log.with_suffix(".1"))
    log.write_text("new\nnewer\n")

    assert collected(log, tail, 2) == ["new", "newer"]


def test_half_a_line_waits_for_its_other_half(log: Path) -> None:
    log.write_text("whole\nha")
    tail = last_lines(str(log), 5)
    assert tail.lines == ["whole"]
    with log.open("a") as file:
        file.write("lf\n")

    assert collected(log, tail, 1) == ["half"]


def test_a_line_without_end_is_passed_on_in_pieces(log: Path) -> None:
    log.write_text("")
    tail = last_lines(str(log), 5)
    log.write_text("x" * (background._BLOCK_BYTES + 10) + "\n")

    assert "".join(collected(log, tail, 2)) == "x" * (background._BLOCK_BYTES + 10)


def collected(log: Path, tail: Tail, number: int) -> list[str]:
    """The next lines that are followed, at least so many."""
    found: list[str] = []
    for lines in follow(str(log), tail.end, wait=never):
        found += lines
        if len(found) >= number:
            break
    return found


def never(_seconds: float) -> None:
    """What is to be read is there already."""
    raise AssertionError("nothing more was found in the log")
