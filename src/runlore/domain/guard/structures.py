"""Secrets told by what is around them: armoured keys, signed tokens, addresses, commands, manifests.

Redaction markers are here too. They are no secrets, but a text that carries one was cut out of
something else, and is refused as well (LRN-8).
"""

import binascii
import json
from base64 import urlsafe_b64decode

from runlore.domain.guard.finding import REDACTION_MARKER, SecretFinding
from runlore.domain.guard.patterns import BytesMatch, compile_pattern
from runlore.domain.guard.placeholders import is_placeholder, is_plain
from runlore.domain.guard.randomness import looks_random
from runlore.domain.guard.view import View
from runlore.domain.guard.vocabulary import CREDENTIAL_NOUNS

KEY_CHARS_MAX = 16_384
COMMAND_CHARS_MAX = 400
MANIFEST_CHARS_MAX = 1_000
MANIFEST_KIND = "kind: secret"
BEARER_CHARS_MIN = 12
PASSWORD_CHARS_MIN = 3

MARKER = (
    rb"(?i:<redacted[^>\n]{0,40}>?|\[[^\]\n]{0,4}redacted[^\]\n]{0,40}\]|\{{1,2} ?redacted[^}\n]{0,24}\}{1,2}"
    rb"|\(redacted\)|\xabredacted\xbb|[*#_%-]{2,4}redacted[*#_%-]{2})"
    rb"|[\[<](?:FILTERED|MASKED|SCRUBBED)[\]>]|REDACTED"
)
ARMOUR = (
    rb"-----(?i:BEGIN[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?)-----"
    rb"(?:[ \t]*(?:\n|\r|\\[nr])(?:\s|\\[nr])*[^\s\\-][^-]{10}|[ \t]*[A-Za-z0-9+/=]{16})[^-]*"
    rb"(?:-----END[ A-Z0-9_-]{0,64}-----)?"
)
PUTTY = rb"PuTTY-User-Key-File-\d:(?s:.{0,1000}?)Private-Lines:\s*\d+\s+[A-Za-z0-9+/=]{16}[A-Za-z0-9+/=\s]*"
SIGNED = rb"(eyJ[\w=+/-]{8,})\.ey[A-Z][\w=+/-]{8,}(?:\.[\w=+/-]*)?"
USERINFO = rb"://[^\s/:@?#\"'<>`]{0,128}:([^\s/@\"'<>`]{1,256})@[\w\[%{$-]"
USER_OPTION = rb"(?:-u|--user)(?:=|[ \t]{0,5})((?:\"[^\"\n]{1,256}\"|'[^'\n]{1,256}'|[^\s\"']{1,256}){1,3})"
BEARER = rb"(?i:bearer)[ \t]{1,3}([\w=~@.+/-]{12,})"
NETRC = rb"machine\s+\S{1,256}\s+login\s+\S{1,256}\s+password\s+(\S{1,256})"
PASSWORD_OPTION = (
    rb"(?i:sshpass[ \t]+-p[ \t]*|docker login[^\n]{0,200}?[ \t]-p[ =]?|redis-cli[^\n]{0,200}?[ \t]-a[ \t]+"
    rb"|mysql[a-z]{0,8}[^\n]{0,200}?[ \t]-p)(\"[^\"\n]{1,256}\"|'[^'\n]{1,256}'|[^\s\"']{1,256})"
)
SIGNATURE = rb"(?:[?&;]sig=|(?i:x-(?:amz|goog)-signature=))([A-Za-z0-9%+/_-]{40,512})"
PHRASE = rb"(?i:mnemonic|phrase)[^\n:=]{0,24}[:=]\s{0,4}[\"'`]?((?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8})"
MANIFEST_HEAD = rb"\n([ \t]*)(?:data|stringData):[ \t\r]*\n"
MANIFEST_ROW = rb"\n([ \t]*)(?:[\w.-]+:[ \t]*[\"']?([^\s\"'{}<>$|]{6,})|[^ \t\n])"


def find_marker(view: View, start: int, end: int) -> SecretFinding | None:
    """What a redactor left behind: `<redacted:...>`, `[REDACTED]`, `***REDACTED***`."""
    match = compile_pattern(MARKER).search(view.data, max(0, start - 5), end + 48)
    if match is None or match.start() > start or match.end() < end:
        return None
    if match.start() == start and view.continues_word(start):
        return None
    return SecretFinding(REDACTION_MARKER, match.start(), match.end())


def find_armoured_key(view: View, start: int, _end: int) -> SecretFinding | None:
    """A private key in armour, with something in it: naming the header line is no leak."""
    match = compile_pattern(ARMOUR).match(view.data, start, start + KEY_CHARS_MAX)
    return SecretFinding("private-key", match.start(), match.end()) if match else None


def find_putty_key(view: View, start: int, _end: int) -> SecretFinding | None:
    """A private key in the format of PuTTY."""
    match = compile_pattern(PUTTY).match(view.data, start, start + KEY_CHARS_MAX)
    return SecretFinding("private-key", match.start(), match.end()) if match else None


def find_signed_token(view: View, start: int, _end: int) -> SecretFinding | None:
    """A JSON web token: two parts of encoded JSON, and mostly a signature."""
    if view.continues_word(start):
        return None
    match = compile_pattern(SIGNED).match(view.data, start, start + KEY_CHARS_MAX)
    if match is None or not _is_json_object(view.data[match.start(1) : match.end(1)]):
        return None
    return SecretFinding("jwt", match.start(), match.end())


def find_userinfo(view: View, start: int, _end: int) -> SecretFinding | None:
    """The password in `scheme://user:password@host`."""
    match = compile_pattern(USERINFO).match(view.data, start, start + COMMAND_CHARS_MAX)
    if match is None:
        return None
    text, data = view.text[match.start(1) : match.end(1)], view.data[match.start(1) : match.end(1)]
    # The bare word "password" is a password here: addresses with it are copied and used as they are.
    if text.lower() not in CREDENTIAL_NOUNS and is_placeholder(text, data):
        return None
    return SecretFinding("url-password", match.start(1), match.end(1))


def find_user_option(view: View, start: int, end: int) -> SecretFinding | None:
    """The credentials in `curl -u user:password`."""
    if view.lower.rfind("curl", max(0, start - COMMAND_CHARS_MAX), start) < 0:
        return None
    match = compile_pattern(USER_OPTION).match(view.data, start, end + COMMAND_CHARS_MAX)
    if match is None:
        return None
    user, colon, password = (
        view.text[match.start(1) : match.end(1)].replace('"', "").replace("'", "").partition(":")
    )
    if not colon or not _is_password(password or user):
        return None
    return SecretFinding("command-password", match.start(1), match.end(1))


def find_bearer(view: View, start: int, _end: int) -> SecretFinding | None:
    """A token behind the word "Bearer"."""
    match = compile_pattern(BEARER).match(view.data, start, start + COMMAND_CHARS_MAX)
    if match is None:
        return None
    text, data = view.text[match.start(1) : match.end(1)], view.data[match.start(1) : match.end(1)]
    if is_placeholder(text, data) or not looks_random(text, BEARER_CHARS_MIN):
        return None
    return SecretFinding("bearer-token", match.start(1), match.end(1))


def find_netrc(view: View, start: int, _end: int) -> SecretFinding | None:
    """The password in a .netrc file."""
    return _password_in(view, compile_pattern(NETRC).match(view.data, start, start + MANIFEST_CHARS_MAX))


def find_password_option(view: View, start: int, _end: int) -> SecretFinding | None:
    """The password in the options of a command such as `sshpass -p` or `mysql -p`."""
    return _password_in(
        view, compile_pattern(PASSWORD_OPTION).match(view.data, start, start + COMMAND_CHARS_MAX)
    )


def find_signature(view: View, start: int, _end: int) -> SecretFinding | None:
    """The signature that makes a storage address usable by anybody."""
    match = compile_pattern(SIGNATURE).match(view.data, start, start + MANIFEST_CHARS_MAX)
    if match is None or not looks_random(view.text[match.start(1) : match.end(1)], BEARER_CHARS_MIN):
        return None
    return SecretFinding("signed-url", match.start(1), match.end(1))


def find_phrase(view: View, start: int, _end: int) -> SecretFinding | None:
    """The words from which a wallet can be rebuilt."""
    match = compile_pattern(PHRASE).match(view.data, start, start + COMMAND_CHARS_MAX)
    return SecretFinding("seed-phrase", match.start(1), match.end(1)) if match else None


def find_manifest(view: View, start: int, _end: int) -> SecretFinding | None:
    """The first value in the data of a Kubernetes manifest of kind Secret."""
    return next(iter(manifest_values(view, start, 0)[0]), None)


def manifest_values(view: View, start: int, done: int) -> tuple[list[SecretFinding], int]:
    """Every value of the manifest that says at `start` what kind it is, and how far it has been read now.

    What stands before `done` was read for another manifest: no row is read twice.
    """
    end = start + len(MANIFEST_KIND)
    found: list[SecretFinding] = []
    if view.lower[end : end + 1].isalnum():
        return found, done
    done = max(done, start - MANIFEST_CHARS_MAX)
    while head := compile_pattern(MANIFEST_HEAD).search(view.data, done, end + MANIFEST_CHARS_MAX):
        indent = head.end(1) - head.start(1)
        done = head.end() - 1
        for row in compile_pattern(MANIFEST_ROW).finditer(view.data, done, done + KEY_CHARS_MAX):
            if row.end(1) - row.start(1) <= indent:
                break
            done = row.end()
            value = _password_in(view, row, rule="kubernetes-secret", group=2) if row.end(2) > 0 else None
            found += [value] if value else []
    return found, done


def _password_in(
    view: View, match: BytesMatch | None, rule: str = "command-password", *, group: int = 1
) -> SecretFinding | None:
    if match is None or not _is_password(view.text[match.start(group) : match.end(group)].strip("\"'")):
        return None
    return SecretFinding(rule, match.start(group), match.end(group))


def _is_password(text: str) -> bool:
    data = text.encode("latin-1", "replace")
    return len(text) >= PASSWORD_CHARS_MIN and not is_placeholder(text, data) and not is_plain(text, data)


def _is_json_object(part: bytes) -> bool:
    bare = part.rstrip(b"=")
    try:
        decoded = urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))
        return isinstance(json.loads(decoded), dict)
    except (binascii.Error, ValueError, RecursionError):
        return False
