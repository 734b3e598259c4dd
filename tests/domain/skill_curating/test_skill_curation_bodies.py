"""Bodies taken apart and put together: sections once, headings moved down, code and every line kept."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.skill import SkillDocument
from runlore.domain.skill_curating.merging import MergedSize, merge_bodies, parts_of
from runlore.domain.skill_curating.planning import doings_of
from tests.domain.skill_curating.drafts import body_of, lines_of

pytestmark = pytest.mark.req("SKL-9")

FENCED = "## Step-by-Step\n\n1. Run:\n\n   ```sh\n   # a comment\n## Also: nobody\n   make test\n   ```\n"
_lines = st.sampled_from(
    [
        "",
        "text",
        "# One",
        "## Two",
        "## Also: other",
        "### Three",
        "#no heading",
        "```",
        "```sh",
        "~~~~",
        "~~~",
        "1. ```",
        "   ```",
        "- item",
        "    indented",
        "Title\n---",
        "###### Six",
    ]
)
bodies = st.lists(_lines, max_size=10).map("\n".join)


def test_a_body_that_nothing_was_merged_into_is_one_part_of_its_sections() -> None:
    [part] = parts_of(body_of(["make test"]))

    assert part.name == ""
    assert [section.title for section in part.sections] == [
        "Overview",
        "Step-by-Step",
        "Common Pitfalls",
        "Verification",
    ]


def test_a_merged_body_is_its_parts_again() -> None:
    body = merge_bodies([("a", body_of(["make test"])), ("b", body_of(["make build"], note="More."))])

    assert [part.name for part in parts_of(body)] == ["", "b"]
    assert doings_of(body) == (*doings_of(body_of(["make test"])), *doings_of(body_of(["make build"])))


def test_what_was_merged_before_stands_beside_what_is_merged_now() -> None:
    first = merge_bodies([("b", body_of(["make b"], note="B")), ("c", body_of(["make c"], note="C"))])
    body = merge_bodies([("a", body_of(["make a"], note="A")), ("b", first)])

    assert [part.name for part in parts_of(body)] == ["", "b", "c"]
    assert "#### " not in body


def test_a_section_that_is_there_already_is_not_told_twice() -> None:
    body = merge_bodies([("a", body_of(["make test"], note="A")), ("b", body_of(["make test"], note="B"))])

    assert body.count("1. `make test`") == 1
    assert body.count("Common Pitfalls") == 1
    assert body.endswith("## Also: b\n\n### Overview\n\nA procedure of 1 steps. B\n")


def test_a_body_that_says_nothing_new_adds_nothing() -> None:
    body = body_of(["make test"])

    assert merge_bodies([("a", body), ("b", body)]) == body


def test_code_that_looks_like_a_heading_is_code() -> None:
    [part] = parts_of(FENCED)
    body = merge_bodies([("a", "## Overview\n\nA.\n"), ("b", FENCED)])

    assert [section.title for section in part.sections] == ["Step-by-Step"]
    assert "\n   # a comment\n## Also: nobody\n   make test\n" in body


@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_code_that_never_ends_swallows_nothing_that_is_put_behind_it(fence: str) -> None:
    body = merge_bodies([("a", f"## Steps\n\n{fence}sh\nmake test"), ("b", "## Overview\n\nB.\n")])

    assert body == f"## Steps\n\n{fence}sh\nmake test\n{fence}\n\n## Also: b\n\n### Overview\n\nB.\n"


def test_headings_move_down_and_no_further_than_there_are_levels() -> None:
    text = "Before.\n\n# One\n\n## Two\n\n###### Six\n\nx\n"
    body = merge_bodies([("a", "A."), ("b", text)])

    assert body == "A.\n\n## Also: b\n\nBefore.\n\n### One\n\n### Two\n\n###### Six\n\nx\n"


@given(many=st.lists(bodies, min_size=1, max_size=4))
def test_no_line_of_any_body_is_lost(many: list[str]) -> None:
    merged = merge_bodies([(f"name-{number}", body) for number, body in enumerate(many)])

    for body in many:
        assert lines_of(body) - {""} <= lines_of(merged)


@given(many=st.lists(bodies, min_size=1, max_size=4))
def test_no_merged_body_is_larger_than_it_was_reckoned(many: list[str]) -> None:
    names = [f"name-{number}" for number in range(len(many))]
    reckoned = MergedSize.of(SkillDocument(name="x", description="x", body=many[0]))
    for body in many[1:]:
        reckoned = reckoned.join(MergedSize.of(SkillDocument(name="x", description="x", body=body)))
    merged = merge_bodies(list(zip(names, many, strict=True)))

    assert len(merged) <= reckoned.chars + 1
    assert merged.count("\n") <= reckoned.lines + 1


@given(many=st.lists(bodies, min_size=2, max_size=3))
def test_what_is_told_is_the_same_in_any_order(many: list[str]) -> None:
    told = {
        frozenset(
            section.content
            for part in parts_of(merge_bodies([("x", body) for body in order]))
            for section in part.sections
            if any(section.content)
        )
        for order in permutations(many)
    }

    assert len(told) == 1


@given(many=st.lists(bodies, min_size=2, max_size=3))
def test_merging_what_was_merged_already_changes_nothing(many: list[str]) -> None:
    named = [(f"name-{number}", body) for number, body in enumerate(many)]
    merged = merge_bodies(named)

    assert merge_bodies([("name-0", merged), *named[1:]]) == merged
