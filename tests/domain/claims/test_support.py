"""What supports a statement, what contradicts it, and all that does neither (POL-9)."""

import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.claims.support import Support, is_stated, support_of
from runlore.domain.text.excerpt import ELLIPSIS
from tests.domain.claims import unseen_texts
from tests.domain.claims.support_requests import UNASSERTED, UNASSERTED_HELD, Cases
from tests.domain.claims.support_statements import ASSERTED, ASSERTED_HELD

pytestmark = pytest.mark.req("POL-9")

YES, NO, NOTHING = Support.SUPPORTED, Support.CONTRADICTED, Support.NONE

CASES = [
    # Word for word, at word borders, whatever the case, the spacing and the punctuation.
    ("Deploys are allowed", "Deploys are allowed", YES),
    ("Deploys are allowed.", "we know: DEPLOYS   are\tallowed!", YES),
    ("The codename is Atlas", "Fact: the codename is “Atlas”.", YES),
    ("Atlas", "The codename is Atlas", YES),
    ("at", "The codename is Atlas", NOTHING),
    ("Keep it short", "Keep it shorter", NOTHING),
    ("Use C++", "Use C", NOTHING),
    # All terms in one sentence, in their order or turned round as a whole.
    ("Project codename is Atlas", "project codename: atlas", YES),
    ("Project codename is Atlas", "Atlas is the project's codename", YES),
    ("Deploys happen on Friday", "On Friday our deploys happen", YES),
    ("User prefers concise reports", "The user clearly prefers very concise weekly reports", YES),
    ("Redis depends on Postgres", "Postgres depends on Redis", NOTHING),
    ("Go is faster than Python", "Python is faster than Go", NOTHING),
    ("Project codename is Atlas", "The codename is Atlas", NOTHING),
    ("Project codename is Atlas", "Project codename is Borealis", NOTHING),
    # One term is found word for word or not at all.
    ("The Atlas", "Atlas of the world", NOTHING),
    # Over two sentences only where the second goes on with the first.
    ("Project codename is Atlas", "Let us talk about the project. Its codename is Atlas.", YES),
    ("Alice likes coffee", "Alice likes tea. Bob likes coffee.", NOTHING),
    ("Project codename is Atlas", "Let us talk about the project. It is fun. Codename Atlas.", NOTHING),
    # The other polarity.
    ("Deploys are allowed", "Deploys are not allowed", NO),
    ("Deploys are not allowed", "Deploys are allowed", NO),
    ("Deploys are allowed", "Deploys aren't allowed", NO),
    ("Deploys are allowed", "Deploys are no longer allowed", NO),
    ("Deploys are allowed", "Deploys are never allowed", NO),
    ("Deploys are no longer allowed", "Deploys are allowed", NO),
    ("Use tabs", "Don't use tabs", NO),
    ("Use tabs", "Never use tabs.", NO),
    ("Never use tabs", "Use tabs", NO),
    ("Tests run on CI", "Tests do not run on CI", NO),
    ("The cache is enabled", "The cache isn’t enabled", NO),
    ("Tests can run", "Tests cannot run", NO),
    # The same negation, in other words too; another one is not it.
    ("Deploys are not allowed", "Deploys aren't allowed on any day", YES),
    ("Never use tabs", "Do not use tabs", YES),
    ("Deploys are not allowed", "Deploys, not rollbacks, are allowed", NOTHING),
    ("Deploys are not allowed on Friday", "Deploys are allowed, not on Friday", NOTHING),
    ("Deploys are allowed", "It is not true that deploys are allowed", NOTHING),
    ("Deploys are allowed", "It is not true that deploys are not allowed", NOTHING),
    ("Deploys are allowed", "Deploys are allowed, but not on Fridays", NOTHING),
    ("Use tabs", "Use tabs, not spaces", NOTHING),
    ("Use tabs, not spaces", "Preference: use tabs, not spaces", YES),
    ("Use spaces", "Use tabs, not spaces", NO),
    ("Tabs are used", "Not only tabs are used", NOTHING),
    # Questions, conditions, wishes, hearsay, the past.
    ("Deploys are allowed", "Are deploys allowed?", NOTHING),
    ("Deploys are allowed", "Deploys are allowed?", NOTHING),
    ("Deploys are allowed", "is it so that deploys are allowed", NOTHING),
    ("Deploys are allowed", "If all tests pass, deploys are allowed", NOTHING),
    ("Deploys are allowed", "Deploys are allowed unless it is Friday", NOTHING),
    ("Deploys are allowed when tests pass", "Deploys are allowed when tests pass", YES),
    ("Deploys are allowed", "Deploys should be allowed", NOTHING),
    ("Deploys are allowed", "Maybe deploys are allowed", NOTHING),
    ("Deploys are allowed", "Bob claims that deploys are allowed", NOTHING),
    ("Deploys are allowed", "Deploys were allowed", NOTHING),
    ("Deploys are allowed", "It is false that deploys are allowed", NOTHING),
    ("Tabs are used", "Stop claiming that tabs are used", NOTHING),
    ("Deploys are allowed", "Question: deploys are allowed", NOTHING),
    # What stands behind a place or another clause is looked at no less.
    ("The port is 80", "In the demo, the port is 80", YES),
    ("The port is 80", "In staging make sure the port is 80", NOTHING),
    ("The port is 80", "For the demo ensure the port is 80", NOTHING),
    ("The user is an admin", "The form is done, I have a test case, the user is an admin", NOTHING),
    ("I am notified", "As a customer I am notified", NOTHING),
    ("The user is Alice", "The user is Bob and the admin is Alice", NOTHING),
    ("The port is 80", "The port is 80 or 81", NOTHING),
    ("We use tabs", "Use tabs", NOTHING),
    ("Deploys are allowed", "Deploys are allowed\nbut not on Friday", NOTHING),
    # What is taken back.
    ("Deploys are allowed", "Deploys are allowed. That is not true.", NOTHING),
    ("Deploys are allowed", "Deploys are allowed. No, wrong.", NOTHING),
    ("Deploys are allowed", "Deploys are allowed. Scratch that.", NOTHING),
    ("Deploys are allowed", "Deploys are allowed. Never mind.", NOTHING),
    ("Deploys are allowed", "Deploys are allowed. Actually only on Mondays.", NOTHING),
    ("Deploys are allowed", "Deploys are allowed. Nothing else is known.", YES),
    # Both said is neither.
    ("Deploys are allowed", "Deploys are allowed. Deploys are not allowed.", NOTHING),
    # Lines, lists and headings.
    ("Deploys are allowed", "It is not true that\ndeploys are allowed", NOTHING),
    ("Deploys are allowed", "We agreed:\n- deploys are allowed\n- tests are run", YES),
    ("Deploys are allowed", "None of this holds:\n- deploys are allowed\n- tests are run", NOTHING),
    ("Tests are run", "None of this holds:\n- deploys are allowed\n- tests are run", NOTHING),
    ("Tests are run", "None of this holds:\n- deploys are allowed\n\nTests are run.", YES),
    ("Deploys are allowed", "# Rejected\n\ndeploys are allowed", NOTHING),
    ("Deploys are allowed", "# Rejected\ntabs\n# Rules\ndeploys are allowed", YES),
    ("Deploys are allowed", "Request: deploys are allowed\nResult: do not worry", YES),
    ("Port is 8001", "Fact: port is 8000. Fact: port is 8001. Fact: port is 8002.", YES),
    ("Use 3. Then stop", "1. Use 3. Then stop", YES),
    # An excerpt's last sentence is not whole.
    ("Deploys are allowed", f"Deploys are allowed{ELLIPSIS}", NOTHING),
    ("Deploys are allowed", f"Deploys are allowed. And the re{ELLIPSIS}", YES),
    # Several sentences: each has to be there.
    ("Deploys are allowed. Tests are run.", "Tests are run. Deploys are allowed.", YES),
    ("Deploys are allowed. Tests are run.", "Deploys are allowed.", NOTHING),
    ("Deploys are allowed. Tests are run.", "Deploys are allowed. Tests are not run.", NO),
    # Other languages.
    ("Le cache est autorisé", "Le cache est autorisé", YES),
    ("Le cache est autorisé", "Le cache n'est pas autorisé", NO),
    ("Le cache est autorisé", "Le cache n’est plus autorisé", NO),
    ("Les tests marchent vite", "Les tests ne marchent jamais vite", NO),
    ("Deploys sind erlaubt", "Deploys sind nicht erlaubt", NO),
    ("Deploys sind erlaubt", "Deploys sind nicht mehr erlaubt", NO),
    ("Wir nutzen Tabs", "Wir nutzen keine Tabs", NO),
    ("El caché es rápido", "El caché no es rápido", NO),
    ("Usamos tabuladores siempre", "Nunca usamos tabuladores siempre", NO),
    ("Тесты работают быстро", "Тесты не работают быстро", NO),
    ("I test sono veloci", "I test non sono veloci", NO),
    ("项目代号是阿特拉斯", "请记住项目代号是阿特拉斯。", YES),
    ("项目代号是阿特拉斯", "项目代号不是阿特拉斯", NO),
    ("项目代号是阿特拉斯", "项目代号是阿特拉斯吗", NOTHING),
    ("项目代号不是阿特拉斯", "项目代号是阿特拉斯", NO),
    ("部署は許可されています", "部署は許可されていません", NOTHING),
    # Nothing to say, or nothing to ask.
    ("Deploys are allowed", "", NOTHING),
    ("Are deploys allowed?", "Are deploys allowed?", NOTHING),
    ("...", "...", NOTHING),
]

SUBJECTS = ("deploys", "release notes", "the cache", "nightly builds", "feature flags")
VALUES = ("allowed", "enabled on staging", "stored in Redis", "reviewed by Alice", "kept for 30 days")
MOODS = {
    "plain": "{said}.",
    "labelled": "Fact: {said}.",
    "in passing": "For the record, {said} here.",
    "question": "Really, {said}?",
    "condition": "If we are lucky, {said}.",
    "hearsay": "Bob thinks that {said}.",
    "wish": "I wish that {said}.",
    "denied": "It is not true that {said}.",
    "taken back": "{said}. That is wrong.",
}
MEANT = {"plain", "labelled", "in passing"}

subjects = st.sampled_from(SUBJECTS)
values = st.sampled_from(VALUES)
statements = st.builds(lambda subject, value: f"{subject} are {value}", subjects, values)


def said(subject: str, value: str, negated: bool) -> str:
    """A statement."""
    return f"{subject} are {'not ' if negated else ''}{value}"


@pytest.mark.parametrize(("content", "text", "expected"), CASES)
def test_what_a_text_says_of_a_statement(content: str, text: str, expected: Support) -> None:
    assert support_of(content, [text]) is expected


def pairs(cases: Cases) -> list[tuple[str, str]]:
    """Texts with their claims."""
    return [pair for family in cases.values() for pair in family]


@pytest.mark.req("POL-13")
def test_a_request_asserts_nothing_about_what_it_mentions() -> None:
    mentioned = [*pairs(UNASSERTED), *pairs(UNASSERTED_HELD)]

    assert [pair for pair in mentioned if support_of(pair[1], [pair[0]]) is not NOTHING] == []
    told = [(f"Request: {text}\nResult: Done.", claim) for text, claim in mentioned]
    assert [pair for pair in told if support_of(pair[1], [pair[0]]) is not NOTHING] == []
    assert [pair for pair in mentioned if is_stated(pair[1], pair[0])] == []


@pytest.mark.req("POL-13")
def test_what_a_text_states_is_supported() -> None:
    stated = [*pairs(ASSERTED), *pairs(ASSERTED_HELD)]

    assert [pair for pair in stated if support_of(pair[1], [pair[0]]) is not YES] == []


@pytest.mark.req("POL-13")
def test_texts_that_were_written_before_the_rules_were_looked_at_are_told_apart_too() -> None:
    found = [support_of(claim, [text]) is YES for text, claim in unseen_texts.STATEMENTS]

    assert [pair for pair in pairs(unseen_texts.REQUESTS) if support_of(pair[1], [pair[0]]) is YES] == []
    assert sum(found) >= 35 < len(found)


@pytest.mark.req("POL-13")
@given(
    claim=st.sampled_from([claim for _, claim in pairs(ASSERTED) if "\n" not in claim]),
    before=st.sampled_from(
        ["make sure that", "write a test where", "fix the bug:", "check whether", "translate:", "ensure"]
    ),
)
def test_the_same_words_behind_an_order_state_nothing(claim: str, before: str) -> None:
    assert support_of(claim, [f"{claim}."]) is YES
    assert support_of(claim, [f"{before} {claim}."]) is NOTHING
    assert support_of(claim, [f"Please {before} {claim}"]) is NOTHING


said_things = st.tuples(subjects, values, st.booleans())


@given(claim=said_things, told=said_things)
@pytest.mark.parametrize("mood", MOODS)
def test_only_the_same_statement_counts_only_where_it_is_meant_and_its_negation_refutes_it(
    mood: str, claim: tuple[str, str, bool], told: tuple[str, str, bool]
) -> None:
    text = MOODS[mood].format(said=said(*told))

    found = support_of(said(*claim), [text])

    is_about_it = claim[:2] == told[:2] and mood in MEANT
    expected = (YES if claim[2] is told[2] else NO) if is_about_it else NOTHING
    assert found is expected


@given(
    statement=statements,
    case=st.sampled_from([str.upper, str.title, str.swapcase]),
    mark=st.sampled_from("!. "),
)
def test_case_spacing_and_punctuation_at_the_borders_change_nothing(
    statement: str, case: object, mark: str
) -> None:
    assert callable(case)
    spaced = "   ".join(case(statement).split())

    assert support_of(statement, [f"({spaced}{mark})"]) is YES


@given(statement=statements, negation=st.sampled_from(["not", "never", "no longer"]))
def test_polarity_is_told_apart_both_ways(statement: str, negation: str) -> None:
    opposite = statement.replace(" are ", f" are {negation} ")

    assert support_of(statement, [opposite]) is NO
    assert support_of(opposite, [statement]) is NO
    assert support_of(opposite, [opposite]) is YES


@given(statement=statements, dropped=st.integers(0, 10))
def test_a_text_that_lacks_one_of_the_terms_says_nothing(statement: str, dropped: int) -> None:
    words = statement.split()
    lost = words[dropped % len(words)]
    assume(lost not in {"the", "are", "on", "in", "by", "for"})

    assert support_of(statement, [statement.replace(lost, "something")]) is NOTHING


@given(statement=statements, around=st.lists(st.sampled_from(["We met at noon.", "Lunch was good.", "Bye."])))
def test_what_else_a_text_tells_changes_nothing(statement: str, around: list[str]) -> None:
    text = " ".join([*around, f"{statement}.", *around])

    assert support_of(statement, [text]) is YES


@given(statement=statements, texts=st.lists(st.sampled_from(["yes", "no", "nothing"]), max_size=4))
def test_texts_are_asked_apart_and_disagreement_is_no_support(statement: str, texts: list[str]) -> None:
    told = {"yes": statement, "no": statement.replace(" are ", " are not "), "nothing": "We met at noon."}

    found = support_of(statement, [told[text] for text in texts])

    heard = set(texts) - {"nothing"}
    assert found is {"yes": YES, "no": NO}.get("".join(heard), NOTHING)


@given(statement=statements)
def test_terms_that_are_scattered_over_fields_do_not_count_together(statement: str) -> None:
    subject, _, value = statement.partition(" are ")

    assert support_of(statement, [subject, value]) is NOTHING


@given(content=st.text(max_size=60), text=st.text(max_size=120))
@example(content="\0", text="\ud800 \x85 # :\n:\n#")
@example(content="not", text="not not")
@example(content="-", text="- ")
def test_no_text_breaks_it(content: str, text: str) -> None:
    assert support_of(content, [text]) in Support
    assert support_of(content, [content, text]) in Support


WORDS = st.sampled_from(["the", "port", "is", "are", "in", "staging", "80", "and", "it", "not", "blue", "On"])
MARKS = st.sampled_from(["", "", "", ",", ".", ":", '"', "?"])


@given(
    content=st.lists(WORDS, min_size=1, max_size=7).map(" ".join),
    text=st.lists(st.builds(str.__add__, WORDS, MARKS), max_size=14).map(" ".join),
)
@example(content="port is 80", text="In port the 80")
@example(content="The blue big port is open", text="In the open the blue big is port")
def test_words_in_any_order_are_read(content: str, text: str) -> None:
    assert support_of(content, [text]) in Support
    assert support_of(content, [f"{content}. {text}", content]) in Support
    if is_stated(content, text):
        assert support_of(content, [text]) is not NO


@given(content=st.text(alphabet="ab ?.!:#\n不not", max_size=40))
def test_what_contradicts_itself_is_never_supported_by_itself_and_the_opposite(content: str) -> None:
    assert support_of(content, [content]) is not NO


@pytest.mark.parametrize(
    "filler", ["deploys ", "are allowed not ", "deploys are\n", "a. ", "- deploys:\n", "不", "by the way, "]
)
def test_a_text_as_long_as_they_come_is_read_in_a_bounded_time(filler: str) -> None:
    text = (filler * (limits.SUPPORT_CHARS_MAX // len(filler) + 1))[: limits.SUPPORT_CHARS_MAX]
    content = " ".join(["deploys are allowed"] * 80)

    begun = time.process_time()
    support_of(content, [text])

    assert time.process_time() - begun < 10
