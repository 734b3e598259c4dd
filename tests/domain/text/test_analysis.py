"""From text to terms: what finds what, in every script, the same on every machine."""

import doctest
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlore.domain.text import analysis, word_characters
from runlore.domain.text.analysis import fold_text, is_stop_word, stem, tokenize, words_of

pytestmark = pytest.mark.req("RET-3")

ASCII_TEXT = st.text(st.characters(max_codepoint=127), max_size=60)


def finds(query: str, text: str) -> bool:
    """Whether any term of the query stands in the text."""
    return bool(set(tokenize(query)) & set(tokenize(text)))


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(analysis).failed == 0


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("deploying", "We DEPLOYED it; deployments are daily"),
        ("CATS", "the cat's bowl"),
        ("straße", "STRASSE"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "Café"),
        ("ﬁle", "FILE"),
        ("ＡＰＩ", "api"),
        ("url", "two URLs"),
        ("猫", "我喜欢猫"),
        ("部署", "先备份，再部署服务器"),
        ("服务器备份", "部署服务器之前"),
        ("検索", "全文検索エンジン"),
        ("エンジン", "全文検索エンジン"),
        ("ﾃｽﾄ", "テストを書く"),
        ("ไทย", "ภาษาไทย"),
        ("ລາວ", "ພາສາລາວ"),
        ("ភាសា", "ភាសាខ្មែរ"),
        ("မြန်မာ", "မြန်မာစာ"),
        ("한국어", "한국어를 배운다"),
        ("हिन्दी", "हिन्दी भाषा"),
        ("python", "用Python写代码"),
        ("代码", "用Python写代码"),
        ("snake_case", "a snakeCase name"),
        ("user name", "getUserName()"),
        ("nodejs", "node.js 20"),
        ("node.js", "NodeJS"),
        ("e-mail", "email"),
        ("wifi", "Wi-Fi"),
        ("1.2.3", "released v1.2.3-beta"),
        ("record.py", "see src/runlore/domain/record.py:12"),
        ("C++", "written in c++17"),
        ("c#", "C# and F#"),
        ("usa", "U.S.A."),
        ("10.0.0.1", "host 10.0.0.1 is down"),
        ("don", "Don's desk"),
        ("zero-width", "zero\N{ZERO WIDTH JOINER}-width"),
    ],
)
def test_a_query_finds_the_text(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cat", "category concatenate"),
        ("go", "google gopher"),
        ("c", "C++ and C#"),
        ("c++", "C and C#"),
        ("1.2", "v1.2.3"),
        ("3", "python 3.11"),
        ("the of and", "the end of it and more"),
        ("don't", "don't do it"),
        ("的", "我的猫"),
        ("猫", "我喜欢狗"),
        ("!!! ...", "!!! ..."),
        ("🎉", "🎉 party"),
    ],
)
def test_a_query_does_not_find_the_text(query: str, text: str) -> None:
    assert not finds(query, text)


def test_a_change_of_case_parts_words_in_identifiers_and_not_in_names() -> None:
    assert tokenize("getHTTPStatus parseURLs2 OAuth2") == [
        *("get", "http", "status", "gethttpstatus"),
        *("pars", "urls2", "parseurls2"),
        *("o", "auth2", "oauth2"),
    ]
    assert tokenize("Häuser MÜLLER Żółw École") == ["häuser", "müller", "żółw", "école"]


def test_stop_words_are_dropped_before_stemming_and_nothing_else_is() -> None:
    assert words_of("The cats aren't doing it") == ["the", "cats", "aren't", "doing", "it"]
    assert [word for word in ("the", "aren't", "won", "猫", "的") if is_stop_word(word)] == [
        "the",
        "aren't",
        "的",
    ]
    assert tokenize("The cats aren't doing it") == ["cat"]


def test_the_stemmer_is_the_pinned_one() -> None:
    words = "running flies happily generously organizations national skies dying added"
    stems = "run fli happili generous organiz nation sky die add"
    assert [stem(word) for word in words.split()] == stems.split()
    assert stem("x" * 41 + "ing") == "x" * 41 + "ing"
    assert stem("überraschungs") == "überraschungs"


@given(ASCII_TEXT)
@example("v1.2.3x 1.2.a C++x C## a.b.c x-y_z 1.2.3.4.5 I'll rock'n'roll d'or")
def test_plain_text_is_read_alike_on_both_paths(text: str) -> None:
    assert tokenize(f"{text}\u3000") == tokenize(text)
    assert fold_text(f"{text}\u3000") == fold_text(text)


@given(st.text(st.characters(), max_size=30))
@example("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}ΰ\N{KELVIN SIGN}")
@example("\N{TRADE MARK SIGN}")
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold_text(fold_text(text)) == fold_text(text)


@given(st.text(st.characters(), max_size=30))
def test_terms_are_words_and_a_text_is_not_changed_by_what_nobody_sees(text: str) -> None:
    assert all(tokenize(text))
    assert all(term == term.strip() for term in tokenize(text))
    assert tokenize(text.replace("", "\N{SOFT HYPHEN}")) == tokenize(
        re.sub(f"[{word_characters.IGNORABLE}]", "", text)
    )


@given(st.text(st.characters(categories=["Cn", "Co", "Cs"]), max_size=5), st.text(max_size=5))
def test_characters_that_this_unicode_does_not_know_are_left_alone(unknown: str, known: str) -> None:
    """Another Python may know them: it must not read them in another way."""
    han = re.compile(f"[{word_characters.UNSPACED}]")
    unknown = han.sub("", unknown)
    assert fold_text(f"x{unknown}x") == f"x{unknown}x"
    assert tokenize(f"a1 {unknown} b2") == tokenize("a1 b2")


def test_the_table_of_letters_holds_letters_marks_and_numbers() -> None:
    spaced = re.compile(f"[{word_characters.SPACED}]")
    known = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code))[0] in "LMN"]
    unspaced = re.compile(f"[{word_characters.UNSPACED}]")
    missing = [
        character
        for character in known
        if not spaced.match(character)
        and not unspaced.match(character)
        and not re.match(f"[{word_characters.IGNORABLE}]", character)
        and unicodedata.category(character) != "Me"
    ]
    in_table = [chr(code) for code in range(0x110000) if spaced.match(chr(code))]
    # What is missing came with a later Unicode than the table's; nothing may be in the table by mistake.
    assert missing == [] or unicodedata.unidata_version > "14.0.0"
    assert set(in_table) <= set(known)


def test_a_text_of_many_odd_pieces_is_read_in_time_that_grows_with_its_length() -> None:
    for piece in ("1.", "a-", "v1.", "C++", "a'", "aA", "x" * 50 + "_"):
        assert len(tokenize(piece * 30_000)) <= 90_000 + 1


@pytest.mark.req("RET-3")
@given(
    st.lists(
        st.text(st.characters(max_codepoint=0x2FF), max_size=12)
        | st.sampled_from(("The", "don't", "Skies", "dying", "y", "iOS", "node.js", "C++", "v1.2", "Y'all")),
        max_size=12,
    ),
    st.lists(st.integers(0, 30), max_size=4),
)
def test_the_terms_asked_for_are_those_of_the_whole_text(words: list[str], places: list[int]) -> None:
    text = " ".join(words)
    terms = tokenize(text)
    wanted = frozenset({*(terms[place] for place in places if place < len(terms)), "ski", "c++"})

    length, found = analysis.terms_among(text, wanted)

    assert (length, found) == (len(terms), [term for term in terms if term in wanted])
