"""Settings: flags over environment over `config.toml` over defaults, and a wrong field is named."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.cli.service import ListenOptions
from runlore.config.server import ServerSettings
from runlore.config.settings import Settings, read_port, read_settings
from runlore.domain.errors import Invalid

pytestmark = pytest.mark.req("SUR-6")

PLACES = st.tuples(*[st.none() | st.integers(0, 65_535)] * 3)


def read(home: Path, **environment: str) -> Settings:
    """The settings of a state root."""
    return read_settings(home=str(home), environment={"HOME": str(home), **environment})


def test_without_anything_the_defaults_apply(tmp_path: Path) -> None:
    settings = read(tmp_path)

    assert settings == Settings(state_root=str(tmp_path))
    assert settings.server == ServerSettings(host="127.0.0.1", port=7717, tcp=True)
    assert (settings.url, settings.token) == (None, None)


@given(places=PLACES)
def test_a_flag_wins_over_the_environment_and_that_over_the_file(
    tmp_path_factory: pytest.TempPathFactory, places: tuple[int | None, int | None, int | None]
) -> None:
    home = tmp_path_factory.mktemp("home")
    flag, variable, line = places
    if line is not None:
        (home / "config.toml").write_text(f"[server]\nport = {line}\n")
    environment = {} if variable is None else {"RUNLORE_PORT": str(variable)}

    listen = ListenOptions(port=None if flag is None else str(flag))
    settings = listen.apply(read(home, **environment))

    expected = next((port for port in places if port is not None), 7717)
    assert settings.server.port == expected


def test_the_file_says_where_to_listen_and_whom_to_hear(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        """
        [server]
        host = "0.0.0.0"
        tcp = true
        tls_certificate = "tls/chain.pem"
        tls_key = "/etc/key.pem"
        allowed_hosts = ["runlore.example.org"]
        allowed_origins = ["https://runlore.example.org"]
        """
    )

    assert read(tmp_path).server == ServerSettings(
        host="0.0.0.0",
        # Beside the file that names it, unless the whole path is given.
        tls_certificate=os.path.join(tmp_path, "tls/chain.pem"),
        tls_key="/etc/key.pem",
        allowed_hosts=("runlore.example.org",),
        allowed_origins=("https://runlore.example.org",),
    )
    assert read(tmp_path, RUNLORE_HOST="127.0.0.2").server.host == "127.0.0.2"


def test_flags_only_add_to_what_is_set(tmp_path: Path) -> None:
    settings = read(tmp_path, RUNLORE_HOST="127.0.0.2", RUNLORE_PORT="1")

    assert ListenOptions().apply(settings) == settings
    assert ListenOptions(host="::1").apply(settings).server == ServerSettings(host="::1", port=1)
    assert ListenOptions(no_tcp=True).apply(settings).server.tcp is False


def test_a_token_is_never_part_of_what_is_printed(tmp_path: Path) -> None:
    settings = read(tmp_path, RUNLORE_URL="https://runlore.example.org", RUNLORE_TOKEN="swordfish")

    assert (settings.url, settings.token) == ("https://runlore.example.org", "swordfish")
    assert "swordfish" not in repr(settings)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("port = 65536", "server.port"),
        ("port = -1", "server.port"),
        ('port = "7717"', "server.port"),
        ("port = true", "server.port"),
        ('host = ""', "server.host"),
        ("tcp = 1", "server.tcp"),
        ('allowed_hosts = "one"', "server.allowed_hosts"),
        ("zebra = 1", "server.zebra"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, named: str) -> None:
    (tmp_path / "config.toml").write_text(f"[server]\n{line}\n")

    with pytest.raises(Invalid) as refused:
        read(tmp_path)

    assert refused.value.code == "settings.field"
    assert refused.value.sentence.startswith(f"{named} in ")
    assert "server.port" in refused.value.hint


def test_a_wrong_value_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[embedding]\nprovider = "htp"\n')

    with pytest.raises(Invalid) as refused:
        read(tmp_path)

    assert refused.value.sentence.startswith("embedding.provider in ")
    assert all(value in refused.value.hint for value in ("''", "'http'", "'local'"))
    assert "server.port" not in refused.value.hint


@given(text=st.text(max_size=8))
def test_a_port_is_read_or_refused_and_nothing_else(text: str) -> None:
    is_port = text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535
    if is_port:
        assert read_port(text, "--port") == int(text)
        return
    with pytest.raises(Invalid) as refused:
        read_port(text, "--port")
    assert refused.value.code == "settings.port"


def test_a_wrong_port_of_the_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="RUNLORE_PORT"):
        read(tmp_path, RUNLORE_PORT="http")
