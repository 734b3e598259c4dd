"""Which skills a request brings in: what counts, what does not, and what a stranger's text can do."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.skill import SkillDocument
from runlore.domain.skill_matching import ProfileField, Way, WordMatch, best_matches
from runlore.domain.skill_matching.scoring import BODY_CHARS_MAX, TRIGGER_WORDS_MAX, profile_of
from runlore.domain.skill_matching.words import QUERY_CHARS_MAX, QUERY_WORDS_MAX, Reader, request_of
from tests.domain.skill_matching.skill_documents import SHELF, matched, names, numbered, shelves, skill, texts

pytestmark = pytest.mark.req("SKL-10")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("my disk is full of docker images", "docker-cleanup"),
        ("cleaning up after Docker", "docker-cleanup"),
        ("docker", "docker-cleanup"),
        ("prune", "docker-cleanup"),
        ("publish release notes", "release-notes"),
        ("ship the new version", "release-notes"),
        ("collecting", "release-notes"),
        ("verify the change", "procedure-pytest"),
        ("TESTS", "procedure-pytest"),
        ("how do I use make?", "targets"),
        ("golang", "modules"),
        ("upgrade everything", "modules"),
    ],
)
def test_a_request_brings_in_the_skill_that_it_is_about(query: str, name: str) -> None:
    assert names(query)[:1] == [name]


@pytest.mark.parametrize(
    "query",
    [
        "",
        " \n\t",
        "the of and not",
        "?!... --- ***",
        "thanks, that looks great!",
        "yes please",
        "go on",
        "go ahead",
        "make it",
        "make sure the button is blue",
        "what a nice day it is",
        "what is the weather in Paris",
        "the testament of my uncle",
        "google it",
        "my sister's birthday is in March",
        "1 2 3",
    ],
)
def test_what_has_nothing_to_do_with_any_skill_brings_in_none(query: str) -> None:
    assert names(query) == []


def test_a_match_says_which_word_met_which_field_and_how_and_its_parts_add_up() -> None:
    document = skill(
        "k8s-rollout",
        description="Deploying to production.",
        body="Watch the pods.",
        topics=("kubernetes",),
        actions=("delete",),
    )

    [match] = matched("deploys pods on k8s, removing production", document)

    assert match.parts == (
        WordMatch(
            word="deploys", way=Way.STEM, found="deploy", fields=(ProfileField.DESCRIPTION,), points=21_756
        ),
        WordMatch(word="pods", way=Way.EXACT, found="pod", fields=(ProfileField.BODY,), points=2_496),
        WordMatch(word="k8s", way=Way.SAME, found="kubernet", fields=(ProfileField.TOPICS,), points=25_200),
        WordMatch(
            word="removing", way=Way.NEAR, found="delet", fields=(ProfileField.ACTIONS,), points=10_800
        ),
        WordMatch(
            word="production",
            way=Way.EXACT,
            found="production",
            fields=(ProfileField.DESCRIPTION,),
            points=24_864,
        ),
    )
    assert match.score == sum(part.points for part in match.parts)


@given(shelves, texts)
def test_parts_add_up_each_word_is_told_once_and_a_stem_counts_for_one_word(
    shelf: list[SkillDocument], query: str
) -> None:
    for match in matched(query, *shelf, skill("one-more", topics=("deploy",))):
        assert match.score == sum(part.points for part in match.parts) > 0
        assert all(part.points > 0 and part.fields for part in match.parts)
        assert len({part.word for part in match.parts}) == len(match.parts)
        assert len({part.found for part in match.parts}) == len(match.parts)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        (ProfileField.TOPICS, {"topics": ("terraform",)}),
        (ProfileField.ACTIONS, {"actions": ("terraform",)}),
        (ProfileField.NAME, {"name": "terraform"}),
        (ProfileField.DESCRIPTION, {"description": "Terraform"}),
    ],
)
def test_a_hit_in_one_field_alone_scores(field: ProfileField, fields: dict[str, Any]) -> None:
    [match] = matched("terraform", skill(**fields), *SHELF)

    assert [part.fields for part in match.parts] == [(field,)]


@pytest.mark.parametrize("size", [1, 2, 10, 100])
def test_a_topic_or_action_that_all_skills_share_still_scores(size: int) -> None:
    topics = [skill(f"skill-{number}", topics=("docker",)) for number in range(size)]
    actions = [skill(f"skill-{number}", actions=("deploy",)) for number in range(size)]

    assert len(matched("docker", *topics, limit=size)) == size
    assert len(matched("deploying", *actions, limit=size)) == size


def test_a_word_among_many_about_other_things_brings_in_nothing() -> None:
    document = skill(topics=("docker", "disk", "volumes"), description="Free the space that images take")
    others = [f"other{number}" for number in range(30)]

    assert names(" ".join(["docker", *others[:3]]), document) == ["some-skill"]
    assert names(" ".join(["docker", *others[:9]]), document) == []
    assert names(" ".join(["docker disk volumes images", *others]), document) == ["some-skill"]


def test_what_stands_in_a_body_alone_brings_in_nothing_and_still_helps() -> None:
    plain = skill("first", topics=("docker",))
    fuller = skill("second", topics=("docker",), body="Look at the overlay driver.")

    assert names("overlay", plain, fuller) == []
    assert names("docker overlay", plain, fuller) == ["second", "first"]


def test_a_trigger_counts_for_more_than_a_description_and_that_for_more_than_a_body() -> None:
    fields: list[dict[str, Any]] = [
        {"topics": ("terraform",)},
        {"description": "Terraform"},
        {"body": "terraform"},
    ]
    scores = [matched("terraform flat", skill("flat", **each))[0].score for each in fields]

    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


@pytest.mark.parametrize("size", [1, 10, TRIGGER_WORDS_MAX])
def test_a_topic_among_many_is_enough_where_nothing_else_is_asked(size: int) -> None:
    topics = tuple(f"topic{number}" for number in range(size - 1))

    assert names("docker", skill(topics=(*topics, "docker"))) == ["some-skill"]
    assert names("verify", skill(actions=(*topics[:4], "test"))) == ["some-skill"]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    common = [skill(f"common-{number}", topics=("docker",)) for number in range(8)]
    rare = skill("zz-rare", topics=("terraform",))

    assert names("docker terraform", *common, rare)[0] == "zz-rare"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("go", "google"),
        ("test", "testament"),
        ("make", "makefile"),
        ("java", "javascript"),
        ("type", "typescript"),
        ("post", "postgres"),
        ("git", "gitlab"),
        ("rust", "rustic"),
        ("import", "important"),
        ("product", "production"),
        ("experience", "experiment"),
        ("author", "authorize"),
        ("organ", "organization"),
        ("past", "paste"),
        ("log", "logistics"),
        ("cat", "category"),
    ],
)
def test_no_word_is_met_by_one_that_only_begins_alike(one: str, other: str) -> None:
    for said, asked in ((one, other), (other, one)):
        document = skill(topics=(said,), actions=(said,), description=said, body=said)

        assert names(asked, document) == []
        assert names(said, document) == ["some-skill"]


def test_weak_words_count_where_a_skill_is_named_by_them_and_nothing_else_is_asked() -> None:
    named, passing = skill("make"), skill("other", description="Make good use of new things")

    assert names("make", named, passing) == names("how do you use make", named, passing) == ["make"]
    assert names("make a cake", named, passing) == []


@pytest.mark.parametrize(
    "turn",
    [
        "continue",
        "stop",
        "no, use the other one",
        "start over",
        "run it again",
        "what changed?",
        "same again",
    ],
)
def test_what_is_said_in_passing_brings_in_no_skill_that_says_it_in_passing(turn: str) -> None:
    document = skill(
        "release",
        description="Stop, start over, run again or continue with the same or another one; changed.",
    )

    assert names(turn, document) == []
    assert names(f"{turn}, then a release", document) == ["release"]


def test_what_fails_is_a_failure() -> None:
    assert names("why is it failing", skill("debugging", description="For any failure.")) == ["debugging"]


@given(shelves, texts, st.integers(2, 4))
def test_repeating_words_changes_nothing(shelf: list[SkillDocument], query: str, times: int) -> None:
    repeated = " , ".join([query] * times)

    assert matched(repeated, *shelf, *SHELF) == matched(query, *shelf, *SHELF)


def test_saying_a_thing_in_all_its_words_does_not_count_it_again() -> None:
    document = skill(topics=("deploy",))
    [once] = matched("deploy", document)
    [often] = matched("deploy ship release publish launch rollout", document)

    assert once.score == often.score
    [near] = matched("ship", document)
    [nearer] = matched("ship publish", document)
    assert near.score == nearer.score < once.score


@given(st.permutations(range(len(SHELF))), texts)
def test_the_order_of_the_skills_is_of_no_matter(order: list[int], query: str) -> None:
    skills = numbered(SHELF)

    shuffled = best_matches([skills[place] for place in order], query, limit=9)

    assert shuffled == best_matches(skills, query, limit=9)


def test_ties_go_by_name() -> None:
    twins = [skill(name, topics=("docker",)) for name in ("bb-x", "aa-x", "cc-x")]

    for order in permutations(twins):
        assert names("docker", *order) == ["aa-x", "bb-x", "cc-x"]


@given(shelves, texts, st.integers(-2, 20))
def test_a_limit_cuts_the_same_list(shelf: list[SkillDocument], query: str, limit: int) -> None:
    everything = matched(query, *shelf, limit=1_000)

    assert matched(query, *shelf, limit=limit) == everything[: max(0, limit)]


def test_a_skill_stuffed_with_every_word_wins_against_none_that_is_about_the_request() -> None:
    words = sorted({word for each in SHELF for word in f"{each.description} {each.body}".split()})
    triggers = [word for each in SHELF for word in (*each.topics, *each.actions)]
    padding = [f"filler{number}" for number in range(200)]
    stuffed = skill(
        "-".join(triggers)[:64],
        description=" ".join([*triggers, *words, *padding])[: limits.SKILL_DESCRIPTION_CHARS_MAX],
        body=" ".join([*triggers, *words] * 20),
        topics=(*triggers, *padding),
        actions=(*triggers, *padding),
    )
    for each in SHELF:
        query = f"{each.topics[0]} {each.description}"
        assert names(query, *SHELF, stuffed)[0] == each.name


def test_hidden_characters_and_other_widths_hide_no_word() -> None:
    assert names("do\u00adck\u200der") == names("ＤＯＣＫＥＲ") == names("docker") == ["docker-cleanup"]
    hidden = skill("hidden", topics=("ku\u2060ber\u00adnetes",))
    assert names("k8s", hidden) == ["hidden"]


def test_scripts_without_spaces_are_matched_by_their_pairs() -> None:
    document = skill("deploy-zh", description="把服务部署到生产环境", topics=("部署",))

    assert names("如何部署服务", document) == ["deploy-zh"]
    assert names("天气很好", document) == []


def test_of_a_long_request_the_beginning_and_the_end_are_read() -> None:
    filler = "lorem " * 20_000
    for query in (f"docker disk {filler}", f"{filler} docker disk", f"docker {filler} disk"):
        assert names(query) == ["docker-cleanup"]
    assert names(f"{filler} docker disk {filler}") == []
    assert len(filler) > QUERY_CHARS_MAX


def test_of_a_request_with_many_words_as_many_of_the_beginning_as_of_the_end_count() -> None:
    words = [f"word{number}" for number in range(300)]
    asked = request_of(" ".join(words), Reader()).words

    half = QUERY_WORDS_MAX // 2
    assert [each.word for each in asked] == words[:half] + words[-half:]


def test_what_is_read_of_a_skill_is_bounded() -> None:
    document = skill(
        description="x" * limits.SKILL_DESCRIPTION_CHARS_MAX + " docker",
        body="y " * BODY_CHARS_MAX + " docker",
        topics=(*(f"topic{number}" for number in range(TRIGGER_WORDS_MAX)), "docker"),
        actions=("z" * 100_000 + " docker",),
    )

    assert names("docker", document) == []
    assert names("topic0", document) == names(f"topic{TRIGGER_WORDS_MAX - 1}", document) == ["some-skill"]


def test_of_bodies_and_triggers_nothing_beyond_the_bounds_is_known() -> None:
    topics = tuple(f"one{number} two{number} three{number}" for number in range(TRIGGER_WORDS_MAX))
    profile = profile_of(skill("", body="y " * BODY_CHARS_MAX + " docker", topics=topics), Reader())

    assert "docker" not in profile.points
    assert len(profile.points) == TRIGGER_WORDS_MAX + 1


def test_a_weak_word_beside_others_counts_a_quarter() -> None:
    [match] = matched("make docker", skill(topics=("make", "docker")))
    weak, strong = match.parts

    assert 4 * weak.points == strong.points


@pytest.mark.parametrize("piece", ["a", "a-", "aB", "é", "部", "\u200d", "1.", "don't ", "\ud800", "\x00 "])
def test_hostile_texts_are_read_and_told_nothing_of(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    document = skill(text[:64], description=text, body=text, topics=(text,) * 100, actions=(text,))

    assert names("docker disk", document, *SHELF) == ["docker-cleanup"]
    assert "docker-cleanup" not in names(text, document, *SHELF)
