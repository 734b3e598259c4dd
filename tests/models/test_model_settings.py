"""`[models]`: which models there are, which key goes where, and a wrong line is named."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.config.providers import AGENT_PROGRAMS, BUILT_IN, ModelSettings
from runlore.config.settings import Settings, read_settings
from runlore.domain.errors import Invalid
from runlore.ports.model import Provider, ProviderKind

pytestmark = pytest.mark.req("AGT-2", "SUR-6")

SECRET = "sk-not-to-be-shown-1234567890"
LOCAL = """
[models]
default = "local:qwen3:8b"
[models.providers.local]
kind = "openai"
base_url = "http://127.0.0.1:11434/v1/"
"""


def read(home: Path, text: str = "", **environment: str) -> ModelSettings:
    """The models of a state root with that file."""
    if text:
        (home / "config.toml").write_text(text)
    return read_settings(home=str(home), environment={"HOME": str(home), **environment}).models


def named(models: ModelSettings) -> dict[str, Provider]:
    """The providers by name."""
    return {provider.name: provider for provider in models.providers}


def test_without_anything_there_is_no_model_and_both_companies_are_known(tmp_path: Path) -> None:
    models = read(tmp_path)

    everything = (*BUILT_IN, AGENT_PROGRAMS)
    assert models == ModelSettings(default="", providers=everything) == Settings(state_root="x").models
    assert [(p.name, p.kind, p.api_key_env, p.api_key, p.own_address) for p in models.providers] == [
        ("openai", "openai", "OPENAI_API_KEY", "", False),
        ("anthropic", "anthropic", "ANTHROPIC_API_KEY", "", False),
        ("agent", "program", "", "", False),
    ]


def test_the_environment_gives_the_keys_and_wins_over_the_file_for_the_default(tmp_path: Path) -> None:
    models = read(tmp_path, LOCAL, RUNLORE_MODEL=" anthropic:claude-x ", ANTHROPIC_API_KEY=f" {SECRET}\n")

    assert models.default == "anthropic:claude-x"
    assert named(models)["anthropic"].api_key == SECRET
    assert named(models)["openai"].api_key == ""
    assert read(tmp_path).default == "local:qwen3:8b"
    assert read(tmp_path, RUNLORE_MODEL="").default == "local:qwen3:8b"


def test_a_server_of_ones_own_gets_no_key_that_was_not_meant_for_it(tmp_path: Path) -> None:
    models = read(tmp_path, LOCAL, OPENAI_API_KEY=SECRET)

    assert named(models)["local"] == Provider(
        name="local",
        kind=ProviderKind.OPENAI,
        base_url="http://127.0.0.1:11434/v1",
        own_address=True,
    )
    moved = read(
        tmp_path,
        '[models.providers.openai]\nbase_url = "https://proxy.example.org/v1"',
        OPENAI_API_KEY=SECRET,
    )
    assert (named(moved)["openai"].api_key, named(moved)["openai"].api_key_env) == ("", "")
    asked = read(
        tmp_path,
        '[models.providers.openai]\nbase_url = "https://proxy.example.org/v1"\napi_key_env = "PROXY_KEY"',
        PROXY_KEY=SECRET,
    )
    assert named(asked)["openai"].api_key == SECRET


def test_another_account_at_the_same_company_is_a_provider_of_its_own(tmp_path: Path) -> None:
    text = '[models.providers.work]\nkind = "anthropic"\napi_key_env = "WORK_KEY"'

    work = named(read(tmp_path, text, WORK_KEY=SECRET))["work"]

    assert (work.base_url, work.api_key, work.own_address) == ("https://api.anthropic.com", SECRET, False)
    assert (
        named(read(tmp_path, '[models.providers.more]\nkind = "openai"'))["more"].api_key_env
        == "OPENAI_API_KEY"
    )


@pytest.mark.parametrize("key", ["two words", "ключ", "a\x00b", "a\nb", "x" * 5_000])
def test_what_can_be_no_key_is_none(tmp_path: Path, key: str) -> None:
    assert named(read(tmp_path, OPENAI_API_KEY=key))["openai"].api_key == ""


def test_a_key_is_not_shown(tmp_path: Path) -> None:
    settings = read_settings(home=str(tmp_path), environment={"HOME": "/", "OPENAI_API_KEY": SECRET})

    assert SECRET not in repr(settings)


def provider(**lines: Any) -> str:
    """A provider `mine`, with lines changed; None leaves one out."""
    whole = {"kind": "openai", "base_url": "https://m.example.org/v1", "api_key_env": "MY_KEY", **lines}
    told = "\n".join(f'{name} = "{value}"' for name, value in whole.items() if value is not None)
    return f"[models.providers.mine]\n{told}"


WRONG = (
    ('[models]\ndefault = "gpt-5"', "models.default"),
    ('[models]\ndefault = "openai:"', "models.default"),
    ('[models]\ndefault = ":gpt"', "models.default"),
    ('[models]\ndefault = "nobody:gpt"', "models.default"),
    (f'[models]\ndefault = "openai:{"x" * 300}"', "models.default"),
    ("[models]\ndefault = 5", "models.default"),
    ('[models]\nmodel = "openai:gpt"', "models.model"),
    ("[models]\nproviders = []", "models.providers"),
    (provider(kind=None), "models.providers.mine.kind"),
    (provider(kind="gemini"), "models.providers.mine.kind"),
    (provider(kind="OpenAI"), "models.providers.mine.kind"),
    (provider(api_key=SECRET), "models.providers.mine.api_key"),
    (provider(api_key_env=SECRET), "models.providers.mine.api_key_env"),
    (provider(api_key_env="x" * 200), "models.providers.mine.api_key_env"),
    (provider(base_url="m.example.org/v1"), "models.providers.mine.base_url"),
    (provider(base_url="ftp://m.example.org"), "models.providers.mine.base_url"),
    (provider(base_url="https://"), "models.providers.mine.base_url"),
    (provider(base_url=f"https://me:{SECRET}@m.example.org"), "models.providers.mine.base_url"),
    (provider(base_url=f"https://m.example.org/v1?key={SECRET}"), "models.providers.mine.base_url"),
    (provider(base_url="https://m.example.org/#x"), "models.providers.mine.base_url"),
    (provider(base_url="https://m.example.org:99999"), "models.providers.mine.base_url"),
    (provider(base_url="https://[::1"), "models.providers.mine.base_url"),
    (provider(base_url="https://mé.example.org"), "models.providers.mine.base_url"),
    (provider(base_url="https://m.example.org/a b"), "models.providers.mine.base_url"),
    (provider(base_url="http://m.example.org/v1"), "models.providers.mine.base_url"),
    (provider(base_url="http://127.0.0.1.example.org/v1"), "models.providers.mine.base_url"),
    ('[models.providers."My Own"]\nkind = "openai"', "models.providers.My Own"),
    ('[models.providers."a:b"]\nkind = "openai"', "models.providers.a:b"),
)


@pytest.mark.parametrize(("text", "field"), WRONG, ids=[f"{n} {field}" for n, (_, field) in enumerate(WRONG)])
def test_a_wrong_line_is_named_with_its_file_and_no_secret(tmp_path: Path, text: str, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(tmp_path, text)

    assert field in str(caught.value)
    assert str(tmp_path / "config.toml") in str(caught.value)
    assert caught.value.hint
    assert caught.value.code in ("settings.models", "settings.field")
    assert SECRET not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize("model", ["gpt-5", "nobody:x", ":x", "openai:", "openai:\x07", "x" * 300])
def test_a_wrong_default_of_the_environment_is_told_by_its_variable(tmp_path: Path, model: str) -> None:
    with pytest.raises(Invalid, match="RUNLORE_MODEL") as caught:
        read(tmp_path, RUNLORE_MODEL=model)

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/v1", "http://localhost:1", "http://[::1]:1", "https://a.example"]
)
def test_a_key_goes_over_plain_http_on_this_machine_only(tmp_path: Path, url: str) -> None:
    assert named(read(tmp_path, provider(base_url=url), MY_KEY=SECRET))["mine"].api_key == SECRET


def test_a_server_without_a_key_may_be_anywhere(tmp_path: Path) -> None:
    mine = named(read(tmp_path, provider(base_url="http://10.0.0.5:8000/v1", api_key_env="")))["mine"]

    assert (mine.base_url, mine.api_key_env) == ("http://10.0.0.5:8000/v1", "")


@given(text=st.text(min_size=1, max_size=30))
def test_whatever_names_a_model_it_is_one_or_it_is_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    try:
        models = read(tmp_path_factory.getbasetemp(), RUNLORE_MODEL=text)
    except Invalid:
        return

    provider_name, _, name = models.default.partition(":")
    assert models.default == "" or (provider_name in named(models) and name)
