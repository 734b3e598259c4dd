"""What Runlore put into a prompt is taken out of a text that echoes it, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.injected import ROUNDS_MAX, stripped

pytestmark = pytest.mark.req("JRN-3")

BLOCK = "<runlore:learned_context>\n- the codename is Atlas\n</runlore:learned_context>\n"
PIECES = (
    *("<runlore:a>", "</runlore:a>", "<runlore:b>", "</runlore:b>", "<runlore:", "</", "runlore:", ">", "<"),
    *("\n", "x", "a>", "<runlore:A>", "<runlore:>"),
)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("fix the bug", "fix the bug"),
        (f"{BLOCK}fix the bug", "fix the bug"),
        (f"fix\n{BLOCK}the bug", "fix\nthe bug"),
        (f"{BLOCK}{BLOCK}fix", "fix"),
        (BLOCK, ""),
        ("a <runlore:x>b</runlore:x> c", "a  c"),
        ("<runlore:x>\n<runlore:y>\n</runlore:x>\nz", "z"),
        ("<runlore:x>\nnever closed", "never closed"),
        ("a\n</runlore:x>\nb", "a\nb"),
        ("<runlore:x> one </runlore:y> two", " one  two"),
        ("<runlore:x>1</runlore:x>2<runlore:x>3", "23"),
        ("<run<runlore:x></runlore:x>lore:y>in</runlore:y>", "in"),
        ("<runlore:Name>", "<runlore:Name>"),
        ("<runlore:>", "<runlore:>"),
        ("<runlore:" + "a" * 41 + ">", "<runlore:" + "a" * 41 + ">"),
        ("runlore:x>", "runlore:x>"),
        ("see the <runlore: docs", "see the <runlore: docs"),
    ],
)
def test_blocks_go_whole_and_lone_markers_go_alone(text: str, result: str) -> None:
    assert stripped(text) == result


@given(texts=st.lists(st.text(st.characters(exclude_characters="<>")), min_size=2, max_size=5))
def test_what_stands_around_blocks_stays(texts: list[str]) -> None:
    assert stripped(BLOCK.join(f"{text}\n" for text in texts)) == "".join(f"{text}\n" for text in texts)


@given(parts=st.lists(st.sampled_from(PIECES), max_size=ROUNDS_MAX))
def test_no_marker_is_left_and_doing_it_twice_changes_nothing(parts: list[str]) -> None:
    result = stripped("".join(parts))

    assert stripped(result) == result
    for marker in ("<runlore:a>", "</runlore:a>", "<runlore:b>", "</runlore:b>"):
        assert marker not in result


@pytest.mark.parametrize(
    "unit",
    [
        "<runlore:x>",
        "</runlore:x>",
        "<runlore:",
        "<runlore:x></runlore:x>",
        "<runlore:x></runlore:y>",
        "<run",
    ],
)
def test_hostile_repetition_ends(unit: str) -> None:
    assert len(stripped(unit * 100_000)) <= len(unit) * 100_000
