"""Token estimates, their factor, and the families of models."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.config.model_families import load_families
from runlore.domain.prompts.projection import ModelFamily
from runlore.domain.prompts.token_budget import estimate, factor_percent, family_of

pytestmark = pytest.mark.req("RUN-7")

FACTORS = st.integers(50, 200)


@given(text=st.text(), factor=FACTORS)
def test_an_estimate_is_the_bytes_times_0_285_times_the_factor_rounded_up(text: str, factor: int) -> None:
    exact = Fraction(len(text.encode()) * 285 * factor, 100_000)

    assert estimate(text, factor) == ceil(exact)


@given(parts=st.lists(st.text(), max_size=6), factor=FACTORS)
def test_the_estimates_of_parts_are_never_less_than_that_of_the_whole(parts: list[str], factor: int) -> None:
    assert sum(estimate(part, factor) for part in parts) >= estimate("".join(parts), factor)


@given(reported=st.integers(0, 10**9), estimated=st.integers(0, 10**9))
def test_a_factor_is_bounded_and_needs_evidence(reported: int, estimated: int) -> None:
    factor = factor_percent(reported, estimated)

    assert 50 <= factor <= 200
    if estimated < 2_000:
        assert factor == 100
    elif estimated // 2 <= reported <= 2 * estimated:
        assert abs(factor * estimated - 100 * reported) <= estimated


def test_a_factor_follows_what_was_reported() -> None:
    assert [factor_percent(r, 10_000) for r in (0, 9_000, 10_000, 15_000, 90_000)] == [50, 90, 100, 150, 200]
    assert factor_percent(1_999, 1_999) == factor_percent(5_000, 1_999) == 100
    assert factor_percent(3_000, 2_000) == 150


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-opus-4-1-20250805", "claude"),
        ("anthropic:claude-sonnet-4-5", "claude"),
        ("CLAUDE-3-5-sonnet-latest", "claude-3"),
        ("us.anthropic.claude-3-haiku-20240307-v1:0", "claude-3"),
        ("bedrock/eu.anthropic.claude-sonnet-4-20250514-v1:0", "claude"),
        ("openai/gpt-4o-mini", "gpt-4o"),
        ("openrouter/openai/gpt-4.1-nano", "gpt-4.1"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-turbo", "gpt-4o"),
        ("gpt-5-chat-latest", "gpt-5-chat"),
        ("gpt-5-mini", "gpt-5"),
        ("o3", "o-series"),
        ("openai:o1-mini", "o1-mini"),
        ("gemini-2.5-pro", "gemini"),
        ("google/gemini-1.5-flash", "gemini"),
        ("llama3:70b", "llama-3"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama"),
        ("mistral-large-latest", "mistral-large"),
        ("qwen2.5-coder:7b", "qwen"),
        ("deepseek-chat", "deepseek"),
        ("x-ai/grok-4", "grok"),
        ("moonshotai/kimi-k2", "kimi"),
    ],
)
def test_a_model_is_known_by_how_its_name_begins_whoever_provides_it(model: str, family: str) -> None:
    found = family_of(model, load_families())

    assert found is not None
    assert found.name == family


@pytest.mark.parametrize(
    "model", [None, "", " ", "o30", "gpt-41", "my-model", "claudette", "anthropic:", "/"]
)
def test_an_unknown_model_has_no_family(model: str | None) -> None:
    assert family_of(model, load_families()) is None


@given(
    names=st.lists(st.text("ab1-", min_size=1, max_size=4), min_size=1, max_size=6, unique=True),
    data=st.data(),
)
def test_the_longest_beginning_wins_whatever_the_order(names: list[str], data: st.DataObject) -> None:
    families = [ModelFamily(name=n, prefixes=(n,), window_tokens=10, output_tokens=1) for n in names]
    model = data.draw(st.text("ab1-", max_size=6))

    found = family_of(model, data.draw(st.permutations(families)))

    whole = [n for n in names if model.startswith(n) and _is_whole(model, n)]
    assert (found.name if found else None) == max(whole, key=len, default=None)


def test_the_data_file_is_sound() -> None:
    families = load_families()
    prefixes = [prefix for family in families for prefix in family.prefixes]

    assert len(families) > 20
    assert len(set(prefixes)) == len(prefixes)
    assert len({family.name for family in families}) == len(families)
    assert all(prefix == prefix.casefold().strip() and prefix for prefix in prefixes)
    assert all(0 < family.output_tokens < family.window_tokens for family in families)
    for family in families:
        assert all(family_of(prefix, families) == family for prefix in family.prefixes)


@pytest.mark.parametrize(
    "name", ["claude", "gpt-5", "o-series", "gemini", "llama", "mistral", "qwen", "deepseek", "grok", "kimi"]
)
def test_the_families_that_people_use_are_in_the_data_file(name: str) -> None:
    assert name in {family.name for family in load_families()}


def _is_whole(model: str, prefix: str) -> bool:
    following = model[len(prefix) : len(prefix) + 1]
    both_digits = prefix[-1].isdigit() and following.isdigit()
    return not following or not (both_digits or (prefix[-1].isalpha() and following.isalpha()))
