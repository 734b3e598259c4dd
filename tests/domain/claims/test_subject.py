"""Statements and their keys: which say the same, which contradict each other, which have nothing to do."""

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.claims import subject_words as table
from runlore.domain.claims.question import WHAT, claim_of
from runlore.domain.claims.question_words import UNITS
from runlore.domain.claims.subject import (
    SLUG_CHARS_MAX,
    TOPIC_TERMS_MAX,
    SemanticKey,
    conflicts,
    key_of_parts,
    semantic_key,
    slug,
    topic_terms,
)
from tests.domain.claims import conflict_pairs, conflict_pairs_aside, unseen_texts

SAME = [
    ("Project codename is Atlas", "project codename: atlas"),
    ("The project codename = Atlas.", "PROJECT   CODENAME is “Atlas”!"),
    ("project_codename: Atlas", "project-codename = Atlas"),
    ("- **Codename**: `Atlas`", "1. The codename is Atlas"),
    ("Note: the codename is Atlas", "Remember that the codename is Atlas"),
    ("Fact: the answer is: 42", "answer = 42"),
    ("The timeout is set to 30 s", "timeout: 30 s"),
    ("timeout=30", "Timeout == 30"),
    ("timeout= 30", "timeout := 30"),
    ("requests==2.31", "requests is 2.31"),
    ("The build isn't reproducible", "The build is not reproducible"),
    ("The build is no longer reproducible", "the build is never reproducible"),
    ("retries != 3", "retries is not 3"),
    ("Stand-up is at 10:30", "stand up: at 10:30"),
    ("La version n'est pas stable", "La version n’est plus stable"),
    ("L'éditeur est Vim", "éditeur : vim"),
    ("Der Editor ist Vim", "Editor: Vim"),
    ("El editor es Vim", "editor = vim"),
    ("项目代号是阿特拉斯。", "项目代号：阿特拉斯"),
    ("项目代号＝阿特拉斯", "项目代号 是 阿特拉斯"),
    ("Ｃｏｄｅｎａｍｅ： Atlas", "codename: at\u00adlas"),
    ("In production, the timeout is 30", "In production the timeout is 30"),
    ("Always use ruff", "Use ruff."),
    ("Alice prefers tabs over spaces", "alice prefers tabs"),
    ("I prefer tabs", "User prefers tabs"),
    ("Do not deploy on Friday", "Never deploy on Friday"),
    ("Don't deploy on Friday", "dont deploy on friday"),
    ("We cannot ship", "we can't ship"),
    ("The service that is deployed is Atlas", "service that is deployed: Atlas"),
    ("Codename：Atlas", "codename: atlas"),
]

CONFLICTING = [
    ("Project codename is Atlas", "Project codename is Borealis"),
    ("The build is reproducible", "The build is not reproducible"),
    ("Builds are fast", "Builds are slow"),
    ("Builds are reproducible", "Builds aren't reproducible"),
    ("Stand-up is at 10:30", "Stand-up is at 10:45"),
    ("Docs: https://a.example/x?y=1", "Docs: https://b.example/x?y=1"),
    ("Language is C++", "Language is C#"),
    ("Separator: -", "Separator: ,"),
    ("Replicas: 3", "Replicas: 5"),
    ("CI is GitHub Actions", "CI is Jenkins"),
    ("Compression: yes", "Compression: no"),
    ("prefers tabs", "prefers spaces"),
    ("Alice prefers tabs over spaces", "Alice prefers spaces over tabs"),
    ("Alice prefers 4 spaces", "Alice prefers tabs"),
    ("Alice prefers red to blue", "Alice prefers blue to red"),
    ("Alice prefers pytest for testing", "Alice prefers unittest for testing"),
    ("I prefer dark mode", "I prefer light mode"),
    ("Pat prefers concise reports", "Pat prefers detailed reports"),
    ("Use tabs, not spaces", "Use spaces, not tabs"),
    ("We use tabs", "We do not use tabs"),
    ("We use tabs", "We use spaces"),
    ("Alice uses Rust", "Alice doesn't use Rust"),
    ("Alice carries a badge", "Alice does not carry a badge"),
    ("There is a cache", "There is no cache"),
    ("Use ruff", "Never use ruff"),
    ("Always rebase", "Never rebase"),
    ("You must squash commits", "You must not squash commits"),
    ("We deploy on Friday", "We no longer deploy on Friday"),
    ("In CI we cache wheels", "In CI, we do not cache wheels"),
    ("When the cache is cold, the build is slow", "When the cache is cold, the build is not slow"),
    ("The timeout defaults to 30 s", "The timeout defaults to 60 s"),
    ("The config lives in /etc/app", "The config lives in ~/.app"),
    ("Width equals 3", "Width equals 4"),
    ("Width equals 3", "Width does not equal 3"),
    ("La version est stable", "La version n'est pas stable"),
    ("On utilise des tabulations", "On n'utilise pas des tabulations"),
    ("Der Build ist stabil", "Der Build ist nicht stabil"),
    ("Wir verwenden Docker", "Wir verwenden kein Docker"),
    ("Wir verwenden Docker", "Wir verwenden Docker nicht."),
    ("El build es estable", "El build no es estable"),
    ("Los tests son lentos", "Los tests son rápidos"),
    ("项目代号是阿特拉斯", "项目代号不是阿特拉斯"),
]

UNRELATED = [
    ("There is a cache", "There is a queue"),
    ("In the repo there is a cache", "In the repo there is a queue"),
    ("It is fast", "It is green"),
    ("This is a test", "This is a plan"),
    ("We are a Python shop", "We are in Paris"),
    ("I think it is fine", "I think it is late"),
    ("What matters is speed", "What matters is size"),
    ("Note: use ruff", "Note: use mypy"),
    ("Alice likes tea", "Alice likes coffee"),
    ("Alice prefers tabs", "Alice prefers dark mode"),
    ("Alice prefers tea", "Alice prefers short names"),
    ("I prefer tabs in Go", "I prefer spaces in Python"),
    ("Alice prefers pytest for testing", "Alice prefers ruff for linting"),
    ("We use Postgres", "We use Redis"),
    ("We use pytest for testing", "We use hypothesis for testing"),
    ("The config lives in /etc/app", "The config is valid YAML"),
    ("The codename was Atlas", "The codename is Borealis"),
    ("When the cache is warm, the build is fast", "When the cache is not warm, the build is slow"),
    ("If the cache is warm use it", "If the cache is not warm use it"),
    ("Alice's son works at Acme", "Alice's son lives here"),
    ("Manchmal gibt es Probleme", "Manchmal gibt es Kekse"),
    ("LA office is closed", "Office is open"),
    ("Plan A is active", "Plan B is active"),
    ("Run with --jobs=4", "Run with --jobs=8 --quiet"),
    ("draft => verified", "draft => canary"),
    ("Python >= 3.11", "Python <= 3.14"),
    ("Mix 3 : 1", "Mix 3 : 2"),
    ("We ship in June. The codename is Atlas", "We ship in June. The codename is Borealis"),
    ("Whenever the cache is warm use it", "Whenever the cache is not warm use it"),
    ("Reasons to use tabs", "Reasons not to use tabs"),
    ("Use std:: for names", "Use std:: for types"),
    ("这是缓存", "这是队列"),
    ("但是我们用缓存", "但是我们用队列"),
    ("服务器是否用缓存", "服务器是否用队列"),
]

# Each pair would have one key if a negation were lifted out of the wrong clause.
NEVER_ONE_KEY = [
    ("Use tabs, do not use spaces", "Do not use tabs, use spaces"),
    ("Use tabs and do not use spaces", "Do not use tabs and use spaces"),
    ("Do not use tabs and do not use spaces", "Use tabs and use spaces"),
    ("Tests are slow because the cache is not warm", "Tests are slow because the cache is warm"),
    ("The feature is not only fast but safe", "The feature is fast but safe"),
    ("The cache is not always warm", "The cache is never warm"),
    ("The column is user_id", "The column is user-id"),
    ("Rename user_id", "Rename user-id"),
    ("The file is .env", "The file is env"),
    ("The limit is -1", "The limit is 1"),
    ("The call is f()", "The call is f"),
    ("The answer is no", "The answer is not"),
]


@pytest.mark.req("LRN-5")
@pytest.mark.parametrize(("one", "other"), SAME)
def test_statements_that_say_the_same_share_one_key(one: str, other: str) -> None:
    assert semantic_key(one) == semantic_key(other)
    assert not conflicts(semantic_key(one), semantic_key(other))


@pytest.mark.req("LRN-6")
@pytest.mark.parametrize(("one", "other"), CONFLICTING)
def test_another_value_or_another_polarity_is_a_conflict(one: str, other: str) -> None:
    assert conflicts(semantic_key(one), semantic_key(other))
    assert conflicts(semantic_key(other), semantic_key(one))


@pytest.mark.req("LRN-6")
@pytest.mark.parametrize(("one", "other"), UNRELATED)
def test_statements_about_different_things_do_not_meet(one: str, other: str) -> None:
    assert semantic_key(one) != semantic_key(other)
    assert not conflicts(semantic_key(one), semantic_key(other))


@pytest.mark.req("LRN-14")
def test_statements_clash_only_where_they_answer_the_same_question() -> None:
    assert [pair for pair in conflict_pairs.CLASHING if not _clash(*pair)] == []
    assert [pair for pair in conflict_pairs.HARMLESS if _clash(*pair)] == []


@pytest.mark.req("LRN-14")
def test_pairs_that_nothing_was_fitted_to_are_told_apart_too() -> None:
    clashing, harmless = conflict_pairs_aside.CLASHING, conflict_pairs_aside.HARMLESS

    assert sum(_clash(*pair) for pair in clashing) >= 34 < len(clashing)
    assert sum(not _clash(*pair) for pair in harmless) >= 34 < len(harmless)
    assert sum(_clash(*pair) for pair in unseen_texts.CLASHING) >= 29 < len(unseen_texts.CLASHING)
    assert not any(_clash(*pair) for pair in unseen_texts.HARMLESS)


@pytest.mark.req("LRN-14")
@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("The API is not public", "The API is private", False),
        ("The VPN is mandatory", "The VPN is required", False),
        ("The VPN is mandatory", "The VPN is not required", True),
        ("The database is not MySQL", "The database is PostgreSQL", False),
        ("The database is not MySQL", "The database is MySQL", True),
        ("The log level is quiet", "The log level is important", True),
        ("The sync is on", "The sync is enabled", False),
        ("Merge commits are also allowed", "Merge commits are banned", True),
    ],
)
def test_what_is_not_so_leaves_open_what_is(one: str, other: str, clash: bool) -> None:
    assert _clash(one, other) is clash


def _clash(one: str, other: str) -> bool:
    return conflicts(semantic_key(one), semantic_key(other))


@pytest.mark.req("LRN-5", "LRN-6")
@pytest.mark.parametrize(("one", "other"), NEVER_ONE_KEY)
def test_what_differs_in_meaning_is_never_taken_for_a_duplicate(one: str, other: str) -> None:
    assert semantic_key(one) != semantic_key(other)


@pytest.mark.req("LRN-6")
def test_negation_is_lifted_out_of_the_parts() -> None:
    assert semantic_key("The build is not reproducible") == SemanticKey(
        subject="build", value="reproducible", negated=True
    )
    assert semantic_key("We never force-push") == SemanticKey(subject="we force-push", negated=True)


@pytest.mark.req("LRN-6")
@pytest.mark.parametrize(
    "statement",
    [
        "Use tabs, do not use spaces",
        "We use tabs and spaces",
        "We prefer tabs. We prefer short names.",
        "We use tabs because they look good",
        "Export FOO=1",
    ],
)
def test_a_statement_that_is_not_one_choice_is_not_split(statement: str) -> None:
    assert semantic_key(statement).value == ""


@pytest.mark.req("LRN-5")
def test_brackets_are_stripped_in_pairs_only() -> None:
    assert semantic_key("The call is f(x).").value == "f(x)"
    assert semantic_key("The editor is (Vim).").value == "vim"


@pytest.mark.req("LRN-6")
def test_not_only_is_no_negation() -> None:
    assert not semantic_key("The feature is not only fast").negated


@pytest.mark.req("LRN-5")
@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("Project codename is Atlas", "project codename = atlas"),
        ("The build is not reproducible", "build != reproducible"),
        ("There is a cache", "there is cache"),
        ("There is no cache", "there is cache !="),
        ("it = 5", "it \\= 5"),
        ("The worker uses port 8080", "worker = [use] port 8080"),
        ("Our worker doesn't use port 8080", "worker != [use] port 8080"),
        ("Dana owns the billing service", "billing service owner = dana"),
        ("Format the code with black", "format code [with] = black"),
    ],
)
def test_the_stored_form_is_readable_and_read_back(statement: str, text: str) -> None:
    assert semantic_key(statement).text == text
    assert SemanticKey.parse(text) == semantic_key(statement)


@pytest.mark.req("LRN-5")
@pytest.mark.parametrize("text", ["a=b", "trailing \\", "!x", "= 5", ""])
def test_a_text_that_is_no_stored_form_parses_to_something(text: str) -> None:
    assert isinstance(SemanticKey.parse(text), SemanticKey)


any_text = st.text(max_size=200) | st.text(alphabet="ab =!:\\.,'\"-不是 notevr", max_size=60)
statements = st.sampled_from([text for pair in SAME + CONFLICTING + UNRELATED for text in pair])


@pytest.mark.req("LRN-5")
@given(any_text, any_text)
def test_every_key_survives_storage(one: str, other: str) -> None:
    for key in (semantic_key(one), key_of_parts(one, other)):
        assert SemanticKey.parse(key.text) == key


@pytest.mark.req("LRN-5")
@given(any_text, any_text)
def test_distinct_keys_have_distinct_stored_forms(one: str, other: str) -> None:
    assert (semantic_key(one) == semantic_key(other)) == (semantic_key(one).text == semantic_key(other).text)


@pytest.mark.req("LRN-5")
@given(statements, st.sampled_from(["upper", "lower", "title"]), st.sampled_from(["", ".", "!", " . ", " …"]))
def test_case_spacing_and_trailing_punctuation_do_not_matter(text: str, case: str, end: str) -> None:
    if text.startswith("Separator"):
        end = ""
    recased = getattr(text, case)()
    spaced = "\n  " + recased.replace(" ", " \t\u00a0") + end
    assert semantic_key(spaced) == semantic_key(recased if case != "title" else text)


@pytest.mark.req("LRN-6")
@given(any_text, any_text)
def test_conflict_is_symmetric_and_nothing_conflicts_with_itself(one: str, other: str) -> None:
    first, second = semantic_key(one), semantic_key(other)
    assert conflicts(first, second) == conflicts(second, first)
    assert not conflicts(first, first)


KNOWN_WORDS = {
    word
    for words in (
        *(table.NO_TOPIC, table.ENGLISH_ARTICLES, table.AUXILIARIES, table.BREAKS, table.LABELS),
        *(table.QUESTIONS, table.RELATIVES, table.CONTRACTED, table.FRENCH_NOT, {"ya", "please", "ne"}),
        *(UNITS, {"also", "too", "well"}),
    )
    for word in words
}


def is_plain(word: str) -> bool:
    """Whether it answers no question of its own, as the name of a known program does."""
    claim = claim_of("", word.casefold())
    return (
        word.casefold() not in KNOWN_WORDS and WHAT in claim.questions and claim.answers.keys() <= {"number"}
    )


plain_words = st.text(alphabet=string.ascii_letters + string.digits + "é", min_size=2, max_size=8).filter(
    is_plain
)
plain_phrases = st.lists(plain_words, min_size=1, max_size=4).map(" ".join)


@pytest.mark.req("LRN-5")
@given(plain_phrases, plain_phrases)
def test_parts_given_apart_have_the_key_of_the_sentence(subject: str, value: str) -> None:
    key = key_of_parts(subject, value)
    assert key == semantic_key(f"{subject}: {value}") == semantic_key(f"The {subject} is {value}.")
    assert (key.subject, key.value, key.negated) == (subject.casefold(), value.casefold(), False)


@pytest.mark.req("LRN-6")
@given(plain_phrases, plain_phrases, plain_phrases)
def test_plain_statements_conflict_exactly_when_only_the_value_differs(
    subject: str, value: str, other: str
) -> None:
    one, two = semantic_key(f"{subject} is {value}"), semantic_key(f"{subject} = {other}")
    told, more = sorted((value.casefold().split(), other.casefold().split()), key=len)
    assume(all(len(set(words)) == len(words) for words in (told, more)))
    rest = iter(more)
    is_detail = all(word in rest for word in told)
    assert conflicts(one, two) == (not is_detail)
    assert conflicts(one, semantic_key(f"{subject} is not {value}"))


@pytest.mark.req("LRN-5")
def test_parts_keep_a_value_that_is_only_punctuation() -> None:
    assert key_of_parts("separator", "-") == semantic_key("Separator: -")
    assert key_of_parts("separator", "-") != key_of_parts("separator", ".")


@pytest.mark.req("LRN-5")
@given(st.text(min_size=150, max_size=400), st.text(min_size=150, max_size=400))
def test_keys_are_bounded_and_still_tell_long_texts_apart(one: str, other: str) -> None:
    first, second = key_of_parts(one, one), key_of_parts(one, one + " " + other + " x")
    assert max(len(first.subject), len(first.value)) <= limits.PROFILE_KEY_CHARS_MAX
    assert first.value != second.value


@pytest.mark.req("LRN-5")
def test_a_delimiter_far_into_a_sentence_names_no_subject() -> None:
    long = "we found out that " + "very " * 20 + "the codename is Atlas"
    assert semantic_key(long).value == ""


@pytest.mark.req("REC-8")
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("The project codename is Atlas", ("project", "codename")),
        ("In production, the timeout is 30", ("production", "timeout")),
        ("There is it", ()),
        ("Alice prefers tabs", ("alice", "indentation")),
        ("The worker uses port 8080", ("worker", "port", "8080")),
        ("项目代号是阿特拉斯", ("项目代号",)),
        ("project codename", ("project", "codename")),
    ],
)
def test_topic_terms_are_those_of_the_subject(statement: str, expected: tuple[str, ...]) -> None:
    assert topic_terms(statement) == topic_terms(semantic_key(statement)) == expected


@pytest.mark.req("REC-8")
def test_a_long_subject_gives_its_first_terms() -> None:
    terms = tuple(f"term{n}" for n in range(TOPIC_TERMS_MAX + 5))
    assert topic_terms(" ".join(terms)) == terms[:TOPIC_TERMS_MAX]


@pytest.mark.req("REC-8")
@given(any_text)
def test_topic_terms_are_few_and_never_blank(text: str) -> None:
    found = topic_terms(text)
    assert len(found) == len(set(found)) <= TOPIC_TERMS_MAX
    assert all(term.strip() for term in found)


@pytest.mark.req("REC-8")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Deploy the App!", "deploy-the-app"),
        ("Straße nach Łódź — Ærø", "strasse-nach-lodz-aero"),
        ("Déploiement_à_froid", "deploiement-a-froid"),
        ("部署应用", "部署应用"),
        ("Развёртывание №5", "развёртывание-no5"),
        ("", "procedure"),
        ("!!! — ...", "procedure"),
    ],
)
def test_a_slug_is_a_readable_name(text: str, expected: str) -> None:
    assert slug(text) == expected


@pytest.mark.req("REC-8")
@given(any_text)
def test_a_slug_is_bounded_stable_and_never_empty(text: str) -> None:
    name = slug(text)
    assert 0 < len(name) <= SLUG_CHARS_MAX
    assert slug(name) == name
    assert name == name.strip("-")
    assert "--" not in name


@pytest.mark.req("REC-8")
def test_two_long_procedures_have_two_names() -> None:
    start = "first check out the branch and then build the image and then " * 2
    assert slug(start + "push it") != slug(start + "run it")
