"""Failures are looked for only near the words that they are made of: what is found is what a search of the
whole text finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.detectors import outcome
from runlore.domain.detectors.outcome_texts import FAILURES, LINE_OF_FAILURE, TextRow
from runlore.domain.guard.patterns import compile_pattern

pytestmark = pytest.mark.req("SKL-3")

WHOLE = compile_pattern(("(?m)" + "|".join(f"(?:{row.pattern})" for row in FAILURES)).encode())
SHOWN = [shown for row in FAILURES for shown in row.shows.split(", ")]
PIECES = st.sampled_from(
    [
        *SHOWN,
        *("error: x", "0 errors", "rc: 3", "RC 2", "Exit Code: 4", "STATUS=9", "make: *** [x]", "2 failed"),
        *("Tests:", "Tests: ", " 1 failed", "--- FAIL: T", "    --- ", "FAIL", "ok", "src/a.c:3:", "x - "),
        *("a.b.CError", "ValueError: no", "sh: 1: foo: not found", "Permission denied", "ÄÖ", "\x1b[31m"),
        *("\n", "\n\n", "\n \n", " ", "\t", "\r\n", "\f", "        "),
    ]
)


def spans(found: object) -> list[tuple[int, int]]:
    return [(each.start(), each.end()) for each in found]  # type: ignore[attr-defined]


@given(st.lists(PIECES, max_size=24).map("".join))
def test_what_is_found_near_the_words_is_what_is_found_in_the_whole(text: str) -> None:
    data = text.encode()
    assert spans(outcome._failures(data)) == spans(WHOLE.finditer(data))


@pytest.mark.parametrize("row", FAILURES, ids=lambda row: row.why)
def test_every_pattern_has_one_of_the_words(row: TextRow) -> None:
    found = [
        shown
        for shown in row.shows.split(", ")
        if compile_pattern(f"(?m){row.pattern}".encode()).search(shown.encode())
    ]
    assert found
    for shown in found:
        for told in (shown, shown.lower(), shown.upper()):
            assert compile_pattern(LINE_OF_FAILURE).search(told.encode())


@pytest.mark.req("SKL-14")
@pytest.mark.parametrize(
    ("output", "advice"),
    [
        (
            "fatal: The current branch x has no upstream branch.\n"
            "To push the current branch and set the remote as upstream, use\n\n"
            "    git push --set-upstream origin x\n\nMore in the manual.",
            "git push --set-upstream origin x",
        ),
        (
            "error: it needs a profile\nhm\nTry passing `--profile dev` to it",
            "Try passing `--profile dev` to it",
        ),
        ("error: it went wrong\nand it is used in many ways\nbye", None),
    ],
)
def test_what_a_program_says_to_run_instead_is_kept_with_its_error(output: str, advice: str | None) -> None:
    told = outcome.error_lines(output)
    assert told[-1] == advice if advice else len(told) == 1
