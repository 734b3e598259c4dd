"""`[embedding]` and `[skills.embedding]`: who makes vectors, how long one waits; a wrong line is named."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.config.providers import EmbeddingSettings
from runlore.config.settings import Settings, read_settings
from runlore.domain.errors import Invalid
from runlore.ports.embedder import EmbeddingBackend, EmbeddingProvider

pytestmark = pytest.mark.req("SKL-10", "SKL-12", "SUR-6")

SECRET = "sk-not-to-be-shown-1234567890"
SERVER = {"provider": "http", "base_url": "http://127.0.0.1:11434/v1/", "model": "all-minilm"}
ANOTHER = {"provider": "http", "base_url": "https://e.example.org/v1", "model": "other"}


def written(value: object) -> str:
    """A value as TOML has it."""
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def table(name: str, lines: dict[str, Any]) -> str:
    """A table of the file; None leaves a line out."""
    told = [f"{key} = {written(value)}" for key, value in lines.items() if value is not None]
    return "\n".join([f"[{name}]", *told, ""])


def read(home: Path, text: str = "", **environment: str) -> EmbeddingSettings:
    """The backends of a state root with that file."""
    (home / "config.toml").write_text(text)
    return read_settings(home=str(home), environment={"HOME": str(home), **environment}).embedding


def backend(**fields: Any) -> EmbeddingBackend:
    """The backend that `SERVER` means."""
    plain = {"base_url": "http://127.0.0.1:11434/v1", "model": "all-minilm"}
    return EmbeddingBackend(provider=EmbeddingProvider.HTTP, **{**plain, **fields})


def test_without_anything_there_is_no_backend(tmp_path: Path) -> None:
    empty = EmbeddingSettings(shared=None, skills=None)

    assert read(tmp_path) == empty == Settings(state_root="x").embedding
    assert read(tmp_path, "[embedding]\n[skills.embedding]\n[skills]\n") == empty
    assert read(tmp_path, table("embedding", {"provider": ""})) == empty


def test_skills_share_the_backend_and_wait_no_longer_than_a_turn_may(tmp_path: Path) -> None:
    assert read(tmp_path, table("embedding", SERVER)) == EmbeddingSettings(
        shared=backend(timeout_s=10.0), skills=backend(timeout_s=2.0)
    )


@given(seconds=st.floats(0.001, 600) | st.integers(1, 600))
def test_an_inherited_time_is_capped_and_a_written_one_is_kept(
    tmp_path_factory: pytest.TempPathFactory, seconds: float
) -> None:
    home = tmp_path_factory.mktemp("home")

    inherited = read(home, table("embedding", {**SERVER, "timeout_seconds": seconds}))
    own = read(home, table("skills.embedding", {**SERVER, "timeout_seconds": seconds}))

    assert inherited.shared == backend(timeout_s=seconds)
    assert inherited.skills == backend(timeout_s=min(seconds, 2.0))
    assert own == EmbeddingSettings(shared=None, skills=backend(timeout_s=seconds))


def test_a_backend_of_their_own_is_all_that_skills_have(tmp_path: Path) -> None:
    text = table("embedding", {**SERVER, "dimensions": 384, "timeout_seconds": 1}) + table(
        "skills.embedding", ANOTHER
    )

    found = read(tmp_path, text)

    assert found.shared == backend(dimensions=384, timeout_s=1)
    assert found.skills == backend(base_url="https://e.example.org/v1", model="other", timeout_s=2.0)


def test_a_key_comes_from_the_variable_that_is_named_and_from_no_other(tmp_path: Path) -> None:
    text = table("embedding", {**ANOTHER, "api_key_env": "MY_KEY"})

    found = read(tmp_path, text, MY_KEY=f" {SECRET}\n", OPENAI_API_KEY="another").shared
    none = read(tmp_path, table("embedding", ANOTHER), OPENAI_API_KEY=SECRET).shared

    assert found is not None
    assert none is not None
    assert (found.api_key_env, found.api_key) == ("MY_KEY", SECRET)
    assert (none.api_key_env, none.api_key) == ("", "")
    assert SECRET not in repr(found)


@pytest.mark.parametrize("key", ["two words", "ключ", "a\x00b", "x" * 5_000])
def test_what_can_be_no_key_is_none(tmp_path: Path, key: str) -> None:
    found = read(tmp_path, table("embedding", {**ANOTHER, "api_key_env": "MY_KEY"}), MY_KEY=key).shared

    assert found is not None
    assert (found.api_key_env, found.api_key) == ("MY_KEY", "")


def test_the_local_model_needs_nothing_more(tmp_path: Path) -> None:
    found = read(tmp_path, table("embedding", {"provider": "local"}))

    assert found.shared == EmbeddingBackend(provider=EmbeddingProvider.LOCAL, model="wordllama")
    for lines in ({"model": "wordllama"}, {"dimensions": 64}, {"dimensions": 128}, {"dimensions": 256}):
        assert read(tmp_path, table("embedding", {"provider": "local", **lines})).shared is not None
    better = {"provider": "local", "model": "all-minilm-l6-v2"}
    for lines in ({}, {"dimensions": 384}):
        told = read(tmp_path, table("embedding", {**better, **lines})).shared
        assert told is not None
        assert told.model == "all-minilm-l6-v2"


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({**SERVER, "provider": None}, "provider"),
    ({**SERVER, "provider": ""}, "provider"),
    ({**SERVER, "provider": "openai"}, "provider"),
    ({**SERVER, "provider": "HTTP"}, "provider"),
    ({**SERVER, "provider": 5}, "provider"),
    ({**SERVER, "model": None}, "model"),
    ({**SERVER, "model": " "}, "model"),
    ({**SERVER, "model": "x" * 300}, "model"),
    ({**SERVER, "base_url": None}, "base_url"),
    ({**SERVER, "base_url": ""}, "base_url"),
    ({**SERVER, "base_url": "127.0.0.1:11434/v1"}, "base_url"),
    ({**SERVER, "base_url": "ftp://e.example.org"}, "base_url"),
    ({**SERVER, "base_url": "http://"}, "base_url"),
    ({**SERVER, "base_url": "http://[::1"}, "base_url"),
    ({**SERVER, "base_url": "http://e.example.org:0/v1"}, "base_url"),
    ({**SERVER, "base_url": f"https://{SECRET}@e.example.org/v1"}, "base_url"),
    ({**SERVER, "base_url": f"https://e.example.org/v1?key={SECRET}"}, "base_url"),
    ({**SERVER, "base_url": "https://e.example.org/v 1"}, "base_url"),
    ({**SERVER, "base_url": "http://e.example.org/v1", "api_key_env": "MY_KEY"}, "base_url"),
    ({**SERVER, "api_key_env": SECRET}, "api_key_env"),
    ({**SERVER, "api_key_env": "x" * 200}, "api_key_env"),
    ({**SERVER, "api_key": SECRET}, "api_key"),
    ({**SERVER, "dimensions": -1}, "dimensions"),
    ({**SERVER, "dimensions": 10_000}, "dimensions"),
    ({**SERVER, "dimensions": 2.5}, "dimensions"),
    ({**SERVER, "dimensions": True}, "dimensions"),
    ({**SERVER, "timeout_seconds": 0}, "timeout_seconds"),
    ({**SERVER, "timeout_seconds": -1.0}, "timeout_seconds"),
    ({**SERVER, "timeout_seconds": 601}, "timeout_seconds"),
    ({**SERVER, "timeout_seconds": float("nan")}, "timeout_seconds"),
    ({**SERVER, "timeout_seconds": float("inf")}, "timeout_seconds"),
    ({**SERVER, "timeout_seconds": "2"}, "timeout_seconds"),
    ({**SERVER, "timeout": 2}, "timeout"),
    ({"provider": "local", "base_url": "http://127.0.0.1/v1"}, "base_url"),
    ({"provider": "local", "api_key_env": "MY_KEY"}, "api_key_env"),
    ({"provider": "local", "model": "all-minilm"}, "model"),
    ({"provider": "local", "dimensions": 100}, "dimensions"),
    ({"provider": "local", "dimensions": 384}, "dimensions"),
    ({"provider": "local", "model": "all-minilm-l6-v2", "dimensions": 256}, "dimensions"),
)


@pytest.mark.parametrize("name", ["embedding", "skills.embedding"])
@pytest.mark.parametrize(("lines", "field"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_line_is_named_and_a_secret_is_not_repeated(
    tmp_path: Path, name: str, lines: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        read(tmp_path, table(name, lines), MY_KEY=SECRET)

    assert refused.value.code in ("settings.embedding", "settings.field")
    assert f"{name}.{field} in " in str(refused.value)
    assert SECRET not in f"{refused.value}{refused.value.hint}"
    assert refused.value.hint


def test_unknown_keys_are_errors_that_name_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(Invalid) as refused:
        read(tmp_path, '[skills]\nembeddings = "x"\n')

    assert refused.value.code == "settings.field"
    for name in ("embedding.provider", "skills.embedding.timeout_seconds"):
        assert name in refused.value.hint


def test_plain_http_is_for_this_machine_or_for_no_key(tmp_path: Path) -> None:
    for host in ("127.0.0.1:1234", "localhost", "[::1]:80"):
        here = {**SERVER, "base_url": f"http://{host}/v1", "api_key_env": "MY_KEY"}
        assert read(tmp_path, table("embedding", here), MY_KEY="k").shared is not None
    away = {**SERVER, "base_url": "http://10.0.0.7:11434/v1"}
    assert read(tmp_path, table("embedding", away)).shared is not None
