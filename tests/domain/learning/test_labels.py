"""Labels in a request: which are the user's own, where each ends, and what is no label at all."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.learning.labels import LABELS_MAX, NAMES, Labelled, find_labelled
from runlore.domain.learning.own_words import is_said, own_words
from runlore.domain.prompts.projection import SECTIONS, SectionName
from runlore.domain.prompts.rendering import section
from runlore.domain.record import Kind

pytestmark = pytest.mark.req("CAP-3")

FACT, PREFERENCE, DECISION = Kind.FACT, Kind.PREFERENCE, Kind.DECISION
ATLAS = "the codename is Atlas"


def told(request: str) -> list[tuple[Kind, str]]:
    """What is found, as pairs."""
    return [(found.kind, found.text) for found in find_labelled(request)]


@pytest.mark.parametrize(
    "request_text",
    [
        "Fact: the codename is Atlas",
        "fact: the codename is Atlas.",
        "FACT: the codename is Atlas;",
        "  Fact :  the codename is Atlas ,",
        "Build it.\nFact: the codename is Atlas",
        "Build it. Fact: the codename is Atlas",
        "Please remember: Fact: the codename is Atlas.",
        "Fact:\nthe codename is Atlas\n\nand something else",
        "Fact: the codename\nis Atlas",
        "Fact: the codename is Atlas\nNow build the release",
        "Fact: the codename is Atlas\nBuild the release",
        "Fact: the codename is Atlas\n\nbuild the release",
        "Fact: the codename is Atlas\nplease build the release",
        "Fact: the codename is Atlas. Please build the release.",
        "Fact: the codename is Atlas. Could you build the release?",
        "Fact: the codename is Atlas. Is it built?",
        "Fact: the codename is Atlas. Use port 80.",
        "fact: the codename is Atlas. build it",
        'Fact: the codename is Atlas. Reply exactly "stored".',
        "Fact: the codename is Atlas and reply exactly OK",
        "Fact: the codename is Atlas, respond with exactly OK",
        "Fact: the codename is Atlas answer exactly OK",
        "- Fact: the codename is Atlas",
        "- [x] Fact: the codename is Atlas",
        "3) Fact: the codename is Atlas",
        "## Fact: the codename is Atlas",
        "**Fact:** the codename is Atlas",
        "**Fact**: the codename is Atlas",
        "_Fact:_ the codename is Atlas",
        "**Fact: the codename is Atlas**".replace("**", ""),
        "Fact: **the codename is Atlas**",
        "Fact： the codename is Atlas",
        "Fait : the codename is Atlas",
        "Fact:the codename is Atlas",
        "fact:the codename is Atlas",
        "Fakt: the codename is Atlas",
        "Hecho: the codename is Atlas",
        "Fact: the codename is Atlas\r\nGo\r\n",
        "> Fact: quoted\nFact: quoted too\n\nFact: the codename is Atlas",
        "```\nFact: code\n```\nFact: the codename is Atlas",
        "~~~~\nFact: code\n~~~\nFact: code\n~~~~\nFact: the codename is Atlas",
        "    Fact: indented\n\nFact: the codename is Atlas",
        '"""\nFact: pasted\n"""\nFact: the codename is Atlas',
        "<document>\nFact: pasted\n</document>\nFact: the codename is Atlas",
        "<doc a='1'>\nFact: pasted\n</doc>\nFact: pasted too\n</doc>\nFact: the codename is Atlas",
        "<note>Fact: pasted</note>\nFact: the codename is Atlas",
        "-----BEGIN REPORT-----\nFact: pasted\n-----END REPORT-----\nFact: the codename is Atlas",
        "<redacted:email> wrote this.\nFact: the codename is Atlas",
    ],
)
def test_a_label_says_what_follows_it_and_no_more(request_text: str) -> None:
    assert told(request_text) == [(FACT, ATLAS)]


def test_a_label_in_capitals_needs_neither_a_blank_nor_a_sentence() -> None:
    assert told("Preference:tabs") == [(PREFERENCE, "tabs")]


@pytest.mark.parametrize(
    "request_text",
    [
        "In fact: no",
        "As a matter of fact: no",
        "artifact: x is y",
        "prefact: x is y",
        "The fact: x is y",
        "I prefer tabs. My preference: tabs",
        "See https://example.org/fact: it is there",
        "fact:sheet",
        "fact://host",
        "Fact::Class is a name",
        "Fact:/usr is a path",
        "Fact:=1 is code",
        "Fact - x is y",
        "`Fact: x is y`",
        "Write ``Fact: x is y`` there",
        'He said. "Fact: x is y"',
        "He said “hello. Fact: x is y”.",
        "Facts: many",
        "the three kinds are: fact: something true, decision: something settled",
        "> Fact: x is y",
        "&gt; Fact: x is y",
        "- > Fact: x is y".replace("- ", " "),
        "```\nFact: x is y",
        "    Fact: x is y",
        "\tFact: x is y",
        "<file>\nFact: x is y\n</file>",
        "Fact:",
        "Fact: .;,",
        "Fact:   \n\nnext",
        "",
    ],
)
def test_what_only_looks_like_a_label_is_none(request_text: str) -> None:
    assert told(request_text) == []


@pytest.mark.parametrize(
    ("request_text", "found"),
    [
        (
            "Fact: a is b. Preference: tabs; Decision: use X, Fact: c is d",
            [(FACT, "a is b"), (PREFERENCE, "tabs"), (DECISION, "use X"), (FACT, "c is d")],
        ),
        ("Decision: use Postgres. It scales.\nGo", [(DECISION, "use Postgres. It scales")]),
        ("Fact: X is allowed. But only on Sundays. Go.", [(FACT, "X is allowed. But only on Sundays")]),
        ("Fact: X is allowed. And fix the build.", [(FACT, "X is allowed")]),
        ("Fact: X is allowed, and fix the build", [(FACT, "X is allowed")]),
        ("Fact: use X, Y etc. in tests. Go.", [(FACT, "use X, Y etc. in tests")]),
        ("Fact: the version is 1.2. Go.", [(FACT, "the version is 1.2")]),
        ("Fact: X is allowed\nonly on Sundays", [(FACT, "X is allowed only on Sundays")]),
        ("Fact: the port of the\nServer is 80", [(FACT, "the port of the Server is 80")]),
        (
            f"Fact: {'long ' * 12}name des\nProjekts ist Atlas",
            [(FACT, f"{'long ' * 12}name des Projekts ist Atlas")],
        ),
        (
            "Fact: a is b\n- Fact: c is d\n2. Fact: e is f",
            [(FACT, "a is b"), (FACT, "c is d"), (FACT, "e is f")],
        ),
        ("Fact: a is b\n- build it", [(FACT, "a is b")]),
        *(
            (f"Fact: a is b\n{verb} c is d", [(FACT, "a is b")])
            for verb in ("remember that", "merk dir, dass")
        ),
        ("Preference: reply only in French", [(PREFERENCE, "reply only in French")]),
        ("Preference: always reply exactly as asked", [(PREFERENCE, "always reply exactly as asked")]),
        ("Fact: run `make test` first", [(FACT, "run `make test` first")]),
        ('Fact: he said "Decision: no" twice', [(FACT, 'he said "Decision: no" twice')]),
        ("Fact: it is v1.2, e.g. now", [(FACT, "it is v1.2, e.g. now")]),
        ("Préférence : des tabulations", [(PREFERENCE, "des tabulations")]),
        ("Präferenz: Tabs. Entscheidung: SQLite", [(PREFERENCE, "Tabs"), (DECISION, "SQLite")]),
        ("事实：代号是Atlas。决定：用SQLite", [(FACT, "代号是Atlas。"), (DECISION, "用SQLite")]),
        ("Fact: Preference: tabs", [(PREFERENCE, "tabs")]),
    ],
)
def test_labels_end_where_the_next_statement_begins(request_text: str, found: list[tuple[Kind, str]]) -> None:
    assert [(kind, text.rstrip("。")) for kind, text in told(request_text)] == [
        (kind, text.rstrip("。")) for kind, text in found
    ]


WORDS = st.lists(st.sampled_from(["port", "is", "atlas", "Plan", "42", "über", "on", "Sunday"]), min_size=1)
STATEMENTS = WORDS.map(lambda words: f"{' '.join(words)} ok")
LABELS = st.sampled_from([(kind, name) for kind, names in NAMES.items() for name in names])
OWN = st.tuples(LABELS, STATEMENTS)
PASTED = [
    lambda text: f"```\n{text}\n```",
    lambda text: f"~~~ text\n{text}\n~~~",
    lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    lambda text: f"<file name='x'>\n{text}\n</file>",
    lambda text: f'"""\n{text}\n"""',
    lambda text: f"=== BEGIN ===\n{text}\n=== END ===",
    lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
    lambda text: f"`{text}`",
    lambda text: f"He wrote: {text.lower()}",
    lambda text: f"As the {text}",
]
BLOCKS = 7
"""How many of them are blocks; the others are no labels, and taint nothing behind them."""


@given(st.lists(st.tuples(OWN, st.none() | st.sampled_from(range(len(PASTED)))), max_size=6))
def test_exactly_the_labels_outside_of_blocks_are_found_and_only_those_before_them_are_trusted(
    blocks: list[tuple[tuple[tuple[Kind, str], str], int | None]],
) -> None:
    parts, expected = [], []
    is_behind = False
    for ((kind, name), statement), pasted in blocks:
        line = f"{name.capitalize()}: {statement}"
        parts.append(line if pasted is None else PASTED[pasted](line))
        is_behind = is_behind or (pasted is not None and pasted < BLOCKS)
        if pasted is None:
            expected.append(Labelled(kind=kind, text=statement, is_pasted=is_behind))
    found = find_labelled("\n\n".join(parts))

    # A block goes to the last end of its kind, so that a label between two of one kind is none.
    assert [label for label in found if not label.is_pasted] == [
        label for label in expected if not label.is_pasted
    ]
    assert set(found) <= set(expected)
    if len({pasted for _, pasted in blocks} - {None}) == len([p for _, p in blocks if p is not None]):
        assert found == tuple(expected)


@given(st.text(alphabet="Fact: decision\n`>~\"'<>/ab.;,*_-#\t\r", max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    own = own_words(text)

    assert len(own) == len(text)
    assert [len(line) for line in own.split("\n")] == [len(line) for line in text.split("\n")]
    assert all(here in (there, " ") for here, there in zip(own, text, strict=True))
    assert all(found.text.strip(" .;,") == found.text != "" for found in find_labelled(text))


@pytest.mark.parametrize(
    "piece",
    ["Fact: ", "`", '"', "<a>\n", "> x\n", "a. ", "Fact: a\n", "* ", "***", "```\n", "reply exactly ", ", "],
)
def test_a_long_request_is_read_in_time_that_grows_with_it(piece: str) -> None:
    def seconds(chars: int) -> float:
        text = (piece * (chars // len(piece) + 1))[:chars]
        begun = time.process_time()
        find_labelled(text)
        return time.process_time() - begun

    seconds(1_000)

    assert seconds(200_000) < 5


def test_of_a_very_long_request_its_beginning_and_its_end_are_read() -> None:
    filler = "Nothing is said here.\n" * 10_000
    found = told(f"Fact: a is b\n{filler}Fact: c is d\n{filler}Fact: e is f")

    assert found == [(FACT, "a is b"), (FACT, "e is f")]


def test_a_request_has_a_bounded_number_of_labels() -> None:
    assert len(find_labelled("Fact: a is b\n" * (LABELS_MAX * 3))) == LABELS_MAX


@pytest.mark.parametrize("name", SECTIONS)
def test_what_runlore_rendered_holds_no_label(name: SectionName) -> None:
    rendered = section(name, ["[rec_1 · fact · session:talk]\n```text\nFact: the codename is Atlas\n```"])

    assert told(f"{rendered}\nDecision: use X") == [(DECISION, "use X")]


SAID = "The staging port is 5433. We prefer tabs\nover spaces. Deploys happen on Fridays and mornings."


@pytest.mark.parametrize(
    "statement", ["The staging port is 5433", "staging port is 5433.", "prefer tabs over spaces"]
)
def test_the_users_own_words_say_what_they_hold(statement: str) -> None:
    assert is_said(own_words(SAID), statement)


@pytest.mark.parametrize(
    ("request_text", "statement"),
    [
        (SAID, "The production port is 5433"),
        (SAID, "port staging is 5433"),
        (SAID, "5433 we prefer tabs"),
        (SAID, ""),
        ("The port is not 80", "The port is 80"),
        ("It is not true that the port is 80", "the port is 80"),
        ("Never say the port is 80", "the port is 80"),
        ("Find out whether the port is 80", "the port is 80"),
        ("If the port is 80, stop", "the port is 80"),
        ("Is it so that the port is 80?", "the port is 80"),
        ('The page says "the port is 80"', "the port is 80"),
        ("> the port is 80", "the port is 80"),
        ("```\nthe port is 80\n```", "the port is 80"),
        ("<page>\nthe port is 80\n</page>", "the port is 80"),
    ],
)
@pytest.mark.req("TNT-1")
def test_what_the_user_denies_asks_or_quotes_is_not_said(request_text: str, statement: str) -> None:
    assert not is_said(own_words(request_text), statement)
