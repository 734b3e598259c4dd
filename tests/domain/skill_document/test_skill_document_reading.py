"""A stranger's SKILL.md is read leniently: what is odd is mended and remarked on (SKL-8)."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.skill import Quality
from runlore.domain.skill_document import FrontValue, ParsedDocument, document_from_front, render_document
from runlore.domain.taint import TRUSTED, Provenance
from tests.domain.skill_document.any_skill_document import texts

pytestmark = pytest.mark.req("SKL-8")

VALUES: st.SearchStrategy[FrontValue] = st.recursive(
    texts(200),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(30), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    [
        "name",
        "description",
        "license",
        "compatibility",
        "allowed-tools",
        "metadata",
        "version",
        "author",
        "odek",
    ]
) | texts(70)


def told(front: Mapping[str, FrontValue] = {}, body: str = "body", folder: str = "") -> ParsedDocument:
    """What a file says that has a name and a description, and these fields."""
    return document_from_front({"name": "pdf", "description": "Fill forms.", **front}, body, folder)


def test_a_plain_file_is_read_without_a_remark() -> None:
    read = told({"license": "MIT", "metadata": {"version": "1.0", "author": "ann", "x": "y"}}, folder="pdf")

    assert read.remarks == ()
    assert read.provenance == TRUSTED
    assert (read.document.name, read.document.description) == ("pdf", "Fill forms.")
    assert (read.document.version, read.document.author, read.document.license) == ("1.0", "ann", "MIT")
    assert read.document.metadata == {"x": "y"}
    assert read.document.quality is Quality.MANUAL
    assert not read.document.auto_load


@given(st.dictionaries(FIELDS, VALUES, max_size=8), texts(300), st.sampled_from(["", "pdf", "A b", "../x"]))
def test_whatever_is_read_can_be_written_and_has_a_reason_where_it_cannot_be_read(
    front: dict[str, FrontValue], body: str, folder: str
) -> None:
    for fields in (front, {"name": "pdf", "description": "Fill forms.", **front}):
        try:
            read = document_from_front(fields, body, folder)
        except Invalid as error:
            refused = error
        else:
            assert render_document(read.document, read.provenance)
            continue
        assert refused.code in ("skill.document", "skill.size")
        assert refused.hint


@pytest.mark.parametrize(
    ("front", "sentence"),
    [
        ({"name": ""}, "no name"),
        ({"name": " "}, "no name"),
        ({"name": ["pdf"]}, "no name"),
        ({"name": "日本"}, "not one that the specification allows"),
        ({"description": ""}, "no description"),
        ({"description": "\n"}, "no description"),
        ({"description": {"a": "b"}}, "no description"),
        ({"description": []}, "no description"),
        ({"license": "\0"}, "no file or database can keep"),
        ({"metadata": {"k": "\ud800"}}, "no file or database can keep"),
        ({"metadata": {"runlore-sources": "a\0"}}, "no file or database can keep"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_a_file_that_is_no_skill_is_refused(front: dict[str, FrontValue], sentence: str) -> None:
    with pytest.raises(Invalid, match=sentence) as refused:
        told(front)
    assert refused.value.code == "skill.document"
    assert refused.value.hint


@pytest.mark.parametrize("missing", ["name", "description"])
def test_a_file_without_name_or_description_is_refused_whatever_its_folder(missing: str) -> None:
    front = {"name": "pdf", "description": "Fill forms."}
    del front[missing]
    with pytest.raises(Invalid):
        document_from_front(front, "body", "pdf")


@pytest.mark.parametrize(
    ("told_name", "folder", "name", "remarks"),
    [
        ("pdf", "", "pdf", 0),
        ("pdf", "pdf", "pdf", 0),
        (" pdf ", "pdf", "pdf", 0),
        ("pdf", "forms", "forms", 1),
        ("PDF Forms", "forms", "forms", 1),
        ("PDF Forms", "", "pdf-forms", 1),
        ("PDF Forms", "PDF Forms", "pdf-forms", 1),
        ("../../etc/passwd", "", "etc-passwd", 1),
        ("pdf", "../x", "pdf", 1),
        ("con", "", "con-skill", 1),
        ("x" * 200, "", "x" * 64, 1),
    ],
)
def test_the_folder_names_a_skill_where_it_can(told_name: str, folder: str, name: str, remarks: int) -> None:
    read = told({"name": told_name}, folder=folder)

    assert read.document.name == name
    assert len(read.remarks) == remarks


def test_two_files_of_one_name_in_two_folders_stay_two_skills() -> None:
    names = [told({"name": "same"}, folder=folder).document.name for folder in ("one", "two")]

    assert names == ["one", "two"]


def test_a_remark_shows_what_hides() -> None:
    read = told({"name": "a\u202eb\x1b", "description": "Fill\u200b forms."}, folder="pdf")

    assert read.remarks == (
        "it calls itself `a\\u202eb\\x1b` and stands in the folder `pdf`",
        "its description has characters that nobody sees",
    )


def test_fields_that_the_specification_does_not_have_are_kept_as_metadata() -> None:
    read = told(
        {
            "version": "2.1",
            "author": "ann",
            "tags": ["a", "b"],
            "source": "x",
            "hooks": {"on": [{"run": "y"}]},
            "metadata": {"source": "z"},
        }
    )

    assert (read.document.version, read.document.author) == ("2.1", "ann")
    assert read.document.metadata == {
        "source": "z",
        "tags": '["a", "b"]',
        "hooks": '{"on": [{"run": "y"}]}',
    }
    assert "its field `source` is not one of the specification: it is left out" in read.remarks
    assert "its field `tags` is not one of the specification: it is kept as metadata" in read.remarks


def test_what_runlore_says_of_a_skill_counts_only_where_runlore_writes_it() -> None:
    read = told({"runlore-auto-load": "true", "runlore-quality": "promoted"})

    assert not read.document.auto_load
    assert read.document.quality is Quality.MANUAL
    assert len(read.remarks) == 2


def test_the_trigger_of_an_older_agent_is_read() -> None:
    block: FrontValue = {
        "trigger": {"topic": "docker", "action": "clone tag push"},
        "auto_load": "false",
        "quality": "draft",
    }
    read = told({"odek": block})

    assert read.document.topics == ("docker",)
    assert read.document.actions == ("clone", "tag", "push")
    assert read.document.quality is Quality.DRAFT
    assert read.remarks == ()


@pytest.mark.req("TNT-2")
@pytest.mark.parametrize(
    ("block", "is_tainted"),
    [
        ({"provenance": "untrusted"}, True),
        ({"provenance": "web"}, True),
        ({"provenance": {"untrusted": "true"}}, True),
        ({"provenance": {"untrusted": "false", "needs_review": "perhaps"}}, True),
        ({"needs_review": "true"}, True),
        ({"provenance": "user"}, False),
        ({"provenance": {"untrusted": "false"}}, False),
        ({"quality": "draft"}, False),
    ],
)
def test_what_an_older_agent_says_of_where_a_skill_is_from_taints(
    block: FrontValue, is_tainted: bool
) -> None:
    assert told({"odek": block}).provenance.tainted is is_tainted


@pytest.mark.parametrize(
    ("word", "is_true", "remarks"),
    [
        ("true", True, 0),
        ("True", True, 0),
        ("yes", True, 0),
        ("false", False, 0),
        ("", False, 0),
        ("no", False, 0),
    ],
)
def test_a_switch_is_read_in_the_usual_words(word: str, is_true: bool, remarks: int) -> None:
    read = told({"metadata": {"runlore-auto-load": word, "runlore-untrusted": word}})

    assert read.document.auto_load is is_true
    assert read.provenance.untrusted is is_true
    assert len(read.remarks) == remarks


def test_a_switch_that_says_neither_is_the_careful_one() -> None:
    unclear = {"runlore-auto-load": "perhaps", "runlore-untrusted": "perhaps", "runlore-needs-review": "?"}
    read = told({"metadata": unclear | {"runlore-quality": "best"}})

    assert not read.document.auto_load
    assert read.provenance == Provenance(untrusted=True, needs_review=True)
    assert len(read.remarks) == 4


def test_what_is_too_long_is_cut_and_remarked_on() -> None:
    read = told(
        {
            "description": "x" * 1_025,
            "compatibility": "x" * 501,
            "license": "x" * 1_001,
            "metadata": {
                "version": "x" * 1_001,
                "runlore-topics": f"{'x' * 65} docker {'y ' * 70}",
                "k" * 65: "x",
                "": "x",
                "large": "x" * 4_000,
                "small": "x",
            },
        }
    )

    assert len(read.document.description) == limits.SKILL_DESCRIPTION_CHARS_MAX
    assert len(read.document.compatibility) == limits.SKILL_COMPATIBILITY_CHARS_MAX
    assert len(read.document.license) == len(read.document.version) == limits.SKILL_FIELD_CHARS_MAX
    assert len(read.document.topics) == limits.SKILL_WORDS_MAX
    assert read.document.topics[0] == "docker"
    assert read.document.metadata == {"small": "x"}
    assert len(read.remarks) == 6


def test_remarks_are_bounded() -> None:
    read = told({f"field-{number}": "x" for number in range(100)})

    assert len(read.remarks) == 21
    assert read.remarks[-1] == "and 81 more"


def test_metadata_that_are_no_map_are_left_out() -> None:
    read = told({"metadata": ["a"]})

    assert read.document.metadata == {}
    assert read.remarks == ("its metadata are not a map: they are left out",)
    assert told({"metadata": ""}).remarks == ()


def test_tools_in_a_list_are_read_as_the_line_that_they_should_be() -> None:
    assert told({"allowed-tools": ["Read", "Bash(git:*)"]}).document.allowed_tools == "Read Bash(git:*)"


@pytest.mark.parametrize(
    ("below", "body"),
    [
        ("", ""),
        ("\n", ""),
        ("a", "a"),
        ("\na\n", "a\n"),
        ("\n\na", "\na"),
        ("\r\na", "a"),
        ("\n\r\na", "\r\na"),
    ],
)
def test_the_empty_line_below_the_front_matter_is_no_part_of_the_body(below: str, body: str) -> None:
    assert told(body=below).document.body == body


def test_a_body_with_many_lines_is_remarked_on_and_a_huge_one_refused() -> None:
    assert told(body="x\n" * 499).remarks == ()
    assert told(body="x\n" * 600).remarks == ("its body has 601 lines; 500 are recommended at most",)
    assert told(body="x" * limits.SKILL_BODY_CHARS_MAX).document.body
    with pytest.raises(Invalid) as refused:
        told(body="x" * (limits.SKILL_BODY_CHARS_MAX + 1))
    assert refused.value.code == "skill.size"
