"""What the settings may say about a server: its address, and the variable of the environment with its key.

A key goes over https, or to this machine, and never stands in a file or in an address.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from runlore.domain.errors import Invalid

# Makes the error of whoever checks, from a sentence and a hint.
Wrong: TypeAlias = Callable[[str, str], Invalid]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_KEY_CHARS_MAX = 4_096
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(address: str) -> bool:
    """Whether an address leads to this machine."""
    return urlsplit(address).hostname in _LOOPBACK


def check_address(text: str, where: str, wrong: Wrong) -> str:
    """An address without a slash at its end; empty where none is given."""
    if not text:
        return ""
    hint = "give an address such as http://127.0.0.1:8080/v1; a key never stands in it"
    try:
        parts = urlsplit(text)
        is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong(f"{where} is not an address", hint) from None
    if not (is_plain and is_usable and text.isascii() and text.isprintable() and " " not in text):
        raise wrong(f"{where} is not an address", hint)
    return text.rstrip("/")


def check_key_variable(variable: str, base_url: str, where: tuple[str, str], wrong: Wrong) -> None:
    """Refuse what is no variable, and a key on its way in the clear. `where` is the table and the file."""
    table, path = where
    if variable and not _VARIABLE.fullmatch(variable):
        # Whoever writes a key here by mistake does not find it in an error.
        raise wrong(
            f"{table}.api_key_env in {path} is not the name of an environment variable",
            "name the variable that holds the key, such as OPENAI_API_KEY; the key itself never stands here",
        )
    if variable and urlsplit(base_url).scheme == "http" and not is_loopback(base_url):
        raise wrong(
            f"{table}.base_url in {path} would send a key over plain http",
            "use https beyond this machine, or a server that needs no key",
        )


def key_in(environment: Mapping[str, str], variable: str) -> str:
    """The key that a variable holds; empty where it holds none."""
    key = environment.get(variable, "").strip() if variable else ""
    is_key = len(key) <= _KEY_CHARS_MAX and key.isascii() and key.isprintable() and " " not in key
    return key if is_key else ""
