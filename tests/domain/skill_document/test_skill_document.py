"""What Runlore writes as a skill's file is accepted by the specification's own validator, always (SKL-8)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate, validate_metadata

from runlore.domain import limits
from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.skill import Quality, SkillDocument
from runlore.domain.skill_document import render_document
from runlore.domain.skill_document.reading import OWN_KEYS, one_line, words_in
from runlore.domain.taint import Provenance
from runlore.domain.text.safe_text import hidden_characters
from tests.domain.skill_document.any_skill_document import DOCUMENTS, HOSTILE, PROVENANCES, WORDS

pytestmark = pytest.mark.req("SKL-8")

DOCUMENT = SkillDocument(
    name="procedure-docker",
    description="Build and push an image: docker (4 steps)",
    body="# Overview\n",
    topics=("docker", "image"),
    actions=("build", "push"),
    author="runlore",
    quality=Quality.DRAFT,
)


def verdict(text: str, folder: str) -> tuple[list[str], dict[str, Any]]:
    """What the reference validator says of a file in a folder, and what it read."""
    front, _ = parse_frontmatter(text)
    return validate_metadata(front, Path(folder)), front


def test_a_draft_is_written_with_the_fields_of_the_specification_and_nothing_else() -> None:
    taint = Provenance(untrusted=True, needs_review=True, sources=("https://a.example/x y", "mcp:b"))

    assert render_document(DOCUMENT, taint) == (
        "---\n"
        'name: "procedure-docker"\n'
        'description: "Build and push an image: docker (4 steps)"\n'
        "metadata:\n"
        '  version: "1.0.0"\n'
        '  author: "runlore"\n'
        '  runlore-topics: "docker image"\n'
        '  runlore-actions: "build push"\n'
        '  runlore-untrusted: "true"\n'
        '  runlore-needs-review: "true"\n'
        '  runlore-sources: "https://a.example/x%20y mcp:b"\n'
        '  runlore-auto-load: "false"\n'
        '  runlore-quality: "draft"\n'
        "---\n\n"
        "# Overview\n"
    )


@given(DOCUMENTS, PROVENANCES)
def test_every_document_passes_the_reference_validator_and_says_there_what_it_said(
    document: SkillDocument, provenance: Provenance
) -> None:
    problems, front = verdict(render_document(document, provenance), document.name)

    assert problems == []
    assert front["name"] == document.name
    assert front["description"] == document.description
    assert front.get("license", "") == document.license
    assert front.get("compatibility", "") == document.compatibility
    assert front.get("allowed-tools", "") == document.allowed_tools
    assert {key: text for key, text in front["metadata"].items() if key not in OWN_KEYS} == document.metadata
    assert front["metadata"]["version"] == document.version


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_every_hostile_piece_passes_in_every_field_at_its_greatest_length(number: int) -> None:
    piece = HOSTILE[number]
    document = replace(
        DOCUMENT,
        description=("x" + piece * limits.SKILL_DESCRIPTION_CHARS_MAX)[: limits.SKILL_DESCRIPTION_CHARS_MAX],
        compatibility=(piece * 500)[: limits.SKILL_COMPATIBILITY_CHARS_MAX],
        license=piece,
        body=piece * 3,
        topics=(piece,),
        metadata={("k" + piece * 64)[: limits.SKILL_METADATA_KEY_CHARS_MAX]: piece * 4},
    )

    problems, front = verdict(render_document(document), document.name)

    assert problems == []
    assert front["description"] == document.description
    assert {key: text for key, text in front["metadata"].items() if key not in OWN_KEYS} == document.metadata


@given(DOCUMENTS)
def test_nothing_hides_in_the_front_matter(document: SkillDocument) -> None:
    text = render_document(document)
    front = text.removesuffix(document.body)

    assert not hidden_characters(front.replace("\\", "/"))
    assert "\r" not in front


def test_the_validator_accepts_it_as_a_folder_too(tmp_path: Path) -> None:
    (tmp_path / DOCUMENT.name).mkdir()
    (tmp_path / DOCUMENT.name / "SKILL.md").write_text(render_document(DOCUMENT), "utf-8")

    assert validate(tmp_path / DOCUMENT.name) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../x",
        "a/b",
        "/etc",
        ".hidden",
        "-a",
        "a-",
        "a--b",
        "A",
        "ä",
        "a b",
        "a\n",
        "a" * 65,
        "con",
        "nul",
        "..",
        "a\0",
    ],
)
def test_a_name_that_no_skill_can_have_is_not_written(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        render_document(replace(DOCUMENT, name=name))
    assert refused.value.code == "skill.name"
    assert refused.value.hint


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"description": ""}, "skill.document"),
        ({"description": " \u3000\n"}, "skill.document"),
        ({"description": "x" * 1_025}, "skill.size"),
        ({"compatibility": "x" * 501}, "skill.size"),
        ({"license": "x" * 1_001}, "skill.size"),
        ({"body": "x" * 64_001}, "skill.size"),
        ({"body": "a\0b"}, "skill.document"),
        ({"description": "a\ud800"}, "skill.document"),
        ({"metadata": {"k": "\0"}}, "skill.document"),
        ({"metadata": {" ": "x"}}, "skill.document"),
        ({"metadata": {"version": "2"}}, "skill.document"),
        ({"metadata": {"runlore-untrusted": "false"}}, "skill.document"),
        ({"metadata": {"k" * 65: "x"}}, "skill.size"),
        ({"metadata": {str(number): "" for number in range(65)}}, "skill.size"),
        ({"metadata": {"a": "x" * 2_000, "b": "x" * 2_000}}, "skill.size"),
        ({"topics": ("x" * 65,)}, "skill.size"),
        ({"topics": ("x",) * 65}, "skill.size"),
        ({"actions": ("a\0",)}, "skill.document"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_what_the_specification_cannot_say_is_not_written(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(Invalid) as refused:
        render_document(replace(DOCUMENT, **changes))
    assert refused.value.code == code
    assert refused.value.hint


def test_a_document_with_everything_as_long_as_it_may_be_is_written_and_passes() -> None:
    code = "\U0010ffff"
    words = tuple(code * limits.SKILL_WORD_CHARS_MAX for _ in range(limits.SKILL_WORDS_MAX))
    document = SkillDocument(
        name="a" * 64,
        description=code * limits.SKILL_DESCRIPTION_CHARS_MAX,
        body="\n" * limits.SKILL_BODY_CHARS_MAX,
        topics=words,
        actions=words,
        version=code * limits.SKILL_FIELD_CHARS_MAX,
        author=code * limits.SKILL_FIELD_CHARS_MAX,
        license=code * limits.SKILL_FIELD_CHARS_MAX,
        compatibility=code * limits.SKILL_COMPATIBILITY_CHARS_MAX,
        allowed_tools=code * limits.SKILL_FIELD_CHARS_MAX,
        metadata={"k": code * (limits.SKILL_METADATA_CHARS_MAX - 1)},
    )
    sources = Provenance(sources=tuple(f"{code * 1_000}{number}" for number in range(64)))

    text = render_document(document, sources)

    assert len(text.encode()) <= limits.SKILL_FILE_BYTES_MAX
    assert verdict(text, document.name)[0] == []


def test_a_file_names_as_many_sources_as_it_has_room_for_and_each_one_whole() -> None:
    sources = tuple(f"https://{number}.example/{'x' * 900}" for number in range(64))

    _, front = verdict(render_document(DOCUMENT, Provenance(untrusted=True, sources=sources)), DOCUMENT.name)

    assert words_in(front["metadata"]["runlore-sources"]) == sources[:4]


@given(WORDS)
def test_words_are_read_back_from_one_line(words: tuple[str, ...]) -> None:
    line = one_line(words)

    assert words_in(line) == words
    assert line.split(" ") == line.split() or not words


@pytest.mark.parametrize("line", ["%zz", "%ff", "%C3", "100%", "%E3%80"])
def test_a_code_that_is_none_stays_as_it_is(line: str) -> None:
    assert words_in(line) == (line,)


@given(DOCUMENTS)
def test_the_plain_form_holds_all_of_a_document(document: SkillDocument) -> None:
    assert deserialize(SkillDocument, json.loads(json.dumps(serialize(document)))) == document


PLAIN = serialize(DOCUMENT)


@pytest.mark.parametrize("wrong", [None, 7, [], {}, ["\0"], {"a": 1}, {1: "a"}, "\ud800", "\0"], ids=repr)
@pytest.mark.parametrize("name", sorted(PLAIN))
def test_a_plain_form_that_was_not_written_so_is_damaged(name: str, wrong: Any) -> None:
    if (name in ("topics", "actions") and wrong == []) or (name == "metadata" and wrong == {}):
        assert not getattr(deserialize(SkillDocument, {**PLAIN, name: wrong}), name)
        return
    with pytest.raises(Corrupt) as damaged:
        deserialize(SkillDocument, {**PLAIN, name: wrong})
    assert damaged.value.code == "skill.damaged"
    assert damaged.value.hint


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_a_plain_form_lacks_nothing_and_has_nothing_else(name: str) -> None:
    with pytest.raises(Corrupt):
        deserialize(SkillDocument, {key: value for key, value in PLAIN.items() if key != name})
    with pytest.raises(Corrupt):
        deserialize(SkillDocument, {**PLAIN, f"{name}-x": ""})
    with pytest.raises(Corrupt):
        deserialize(SkillDocument, [PLAIN])
    with pytest.raises(Corrupt):
        deserialize(SkillDocument, {**PLAIN, "quality": "best"})
