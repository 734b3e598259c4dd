"""Secrets told by what is around them: armoured keys, signed tokens, addresses, commands, manifests.

Redaction markers are here too. They are no secrets, but a text that carries one was cut out of
something else, and is refused as well (LRN-8).
"""

import binascii
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from functools import partial

from runlore.domain.guard.finding import REDACTION_MARKER, SecretFinding
from runlore.domain.guard.patterns import BytesMatch, compile_pattern
from runlore.domain.guard.shapes import JUDGING_STEPS, is_strong
from runlore.domain.guard.values import (
    is_made_up,
    is_mixed,
    is_password,
    is_picked,
    is_token,
    is_uuid,
    looks_random,
)
from runlore.domain.guard.view import View
from runlore.domain.guard.vocabulary import CREDENTIAL_NOUNS, is_placeholder

KEY_CHARS_MAX = 16_384
COMMAND_CHARS_MAX = 400
MANIFEST_CHARS_MAX = 1_000
MANIFEST_KIND = "kind: secret"
Detector = Callable[[View, int, int], SecretFinding | None]

MARKER = (
    rb"(?i:<redacted[^>\n]{0,40}>?|\[[^\]\n]{0,4}redacted[^\]\n]{0,40}\]|\{{1,2} ?redacted[^}\n]{0,24}\}{1,2}"
    rb"|\(redacted\)|\xabredacted\xbb|[*#_%-]{2,4}redacted[*#_%-]{2})"
    rb"|[\[<](?:FILTERED|MASKED|SCRUBBED)[\]>]|REDACTED"
)
ARMOUR_HEAD = rb"-----?\x20?BEGIN[ A-Za-z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?\x20?-----?"
ARMOUR_FOOT = rb"END[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?-----"
ARMOURED = rb"[A-Za-z0-9+/]{16,}={0,2}"
BELOW_HEAD = rb"[ \t]*(?:\n|\r|\\[nr])(?:\s|\\[nr])*[^\s\\-][^-]{10}"
PUTTY = rb"Private-Lines:\s*\d+\s+[A-Za-z0-9+/=]{16}[A-Za-z0-9+/=\s]*"
SIGNED = rb"(eyJ[\w=+/-]{8,})\.ey[A-Z][\w=+/-]{8,}(?:\.[\w=+/-]*)?"
USERINFO = rb"://(?:[^\s/:@?#\"'<>`]{0,128}:([^\s/@\"'<>`]{1,256})|[A-Za-z0-9_-]{20,255})@[\w\[%{$-]"
HOST = rb"(?://)?[\w.-]{1,128}(?:\(|:\d{2,5}\b)|\d{1,3}(?:\.\d{1,3}){3}(?:[^\w.-]|\.?$)"
BARE_USERINFO = rb"(?:(?:^|[\s\"'`=(,:])[\w.-]{1,64}[:/]|[/\\][\w.-]{1,64}:)([^\s:/@\"'`]{6,128})$"
VALUE = rb"(\"[^\"\n]{1,256}\"|'[^'\n]{1,256}'|[^\s\"']{1,256})"
USER_OPTION = (
    rb"(?:-[a-z]?[uaU]|--user|/u:|stats auth)(?:name)?(?:=|[ \t]{0,5})"
    rb"((?:\"[^\"\n]{1,256}\"|'[^'\n]{1,256}'|[^\s\"']{1,256}){1,3})"
)
PASSWORD_OPTION = rb"[ \t](?:-[pPw][ =\t]+|-P|/p:)" + VALUE
JOINED_TO_USER = rb"[:,%]"
QUOTED = rb"\\?[\"']([^\"'\n\\]{1,256})\\?[\"']"
LINE_CHARS_MAX = 160
HOST_CHARS_MAX = 64

SEED_DIGITS_MIN = 2
DRAWN_CHARS_MIN = 20


def has_digits(value: str) -> bool:
    """Whether groups of letters have digits among them, which words do not."""
    return sum(map(str.isdigit, value)) >= SEED_DIGITS_MIN


def is_drawn(value: str) -> bool:
    """Whether a value was drawn at random and is no id: neither a UUID nor an id of a document."""
    return is_token(value) and len(value) >= DRAWN_CHARS_MIN and not is_uuid(value)


COMMANDS = (
    ("redis-cli", rb"-a[ \t]+"),
    ("mysql|7z |rar ", rb"-p"),
    ("zip ", rb"(?-i:-P)[ \t]*"),
    ("sshpass|docker login|az login|sqlcmd|psexec|evil-winrm|crackmapexec", rb"-p[ =\t]*"),
    ("useradd|usermod|mongo|ldap", rb"-[pw][ =\t]*"),
    ("openssl", rb"-k[ \t]+"),
    ("snmp", rb"(?-i:-[AXc])[ \t]+"),
    ("ssh-keygen", rb"(?-i:-N)[ \t]+"),
    ("signtool|schtasks", rb"/r?p[ \t]+"),
    ("conan user|conan remote", rb"-p[ \t]+"),
    ("htpasswd", rb"-[a-z]*b[a-z]* \S+ \S+[ \t]+"),
)
"""Programs, and the option behind which they take a password."""
PLACES: tuple[tuple[str, str, bytes, Callable[[str], bool]], ...] = (
    ("command-password", "net use", rb"net use(?:[ \t]+\S{1,128}){1,2}[ \t]+VALUE[ \t]+/user:", is_password),
    ("command-password", "net use", rb"net use[^\n]{1,160}?[ \t]/user:\S{1,128}[ \t]+VALUE", is_picked),
    (
        "command-password",
        "radius|tacacs",
        rb"(?:radius|tacacs)[^\n]{0,80}(?:\n[ \t][^\n]{0,80}){0,3}?\s{1,8}"
        rb"(?:key|secret)[ \t]+(?:\d[ \t]+)?VALUE",
        is_mixed,
    ),
    ("command-password", " enc ", rb" enc[ \t]+([A-Za-z0-9+/]{16,500}={0,2})", is_strong),
    (
        "command-password",
        "option key|wireless.|option password|option psk",
        rb"(?:option (?:key|password|psk)[ \t]+|wireless\.[^\s=]{1,60}\.key=)VALUE",
        is_password,
    ),
    (
        "command-password",
        "rabbitmqctl |poetry config http-basic.|b2 authorize-account |key content",
        rb"(?:rabbitmqctl (?:add_user|change_password) \S{1,64}|poetry config http-basic\.\S{1,64} \S{1,64}"
        rb"|b2 authorize-account \S{1,64}|key content[ \t]*:)[ \t]+VALUE",
        is_password,
    ),
    ("command-password", "rootpw", rb"rootpw(?:[ \t]+--?[a-z]+){0,3}[ \t]+VALUE", is_password),
    ("command-password", "bundle config", rb"bundle config[^\n:]{0,120} [\w.@-]{1,64}:VALUE", is_mixed),
    ("command-password", "]:587|]:465|]:25", rb"\]:\d{2,5}[ \t]+[^\s:]{1,64}:VALUE", is_password),
    (
        "command-password",
        "sqlplus |sqlldr |expdp |impdp |rman target ",
        rb"[a-z]{4,7} (?:target )?(?:-\S{1,12} ){0,3}[\w$#]{1,64}/VALUE(?:@\S{0,200})?",
        is_mixed,
    ),
    (
        "config-password",
        "[admins]|[users]|[passwords]|[credentials]|[accounts]",
        rb"\[[a-z]{5,12}\][ \t\r]*\n(?:[;#][^\n]{0,80}\n){0,3}[\w.@-]{1,64}[ \t]?=[ \t]?VALUE",
        is_mixed,
    ),
    ("config-password", "$user", rb"\$user\d{1,3}\$[ \t]?=[ \t]?VALUE", is_mixed),
    (
        "private-key",
        "accounts",
        rb"accounts[\"']?[ \t]?[:=][ \t]?\[\s{0,24}[\"']?(?:0x)?([0-9a-f]{64})\b",
        is_strong,
    ),
    ("path-token", "/api/", rb"/api/(?:v\d/)?([\w-]{20,100})(?:[/?\s\"'`]|$)", is_drawn),
    (
        "call-token",
        "client(|search(|sdk(|.init(|configure(|setup(",
        rb"[a-z.]{1,24}\(\s{0,8}[\"'][\w@.-]{4,64}[\"'],\s{0,8}QUOTED[,)\s]",
        is_drawn,
    ),
    ("command-password", " pass:", rb" pass:VALUE", is_mixed),
    ("command-password", "net user", rb"net user[ \t]+[\w.-]{1,64}[ \t]+VALUE", is_picked),
    (
        "command-password",
        "requirepass|masterauth|snmp-server|acl setuser|createuser |rocommunity|rwcommunity|addauth digest"
        "|auth default|erlang_cookie",
        rb"(?:requirepass|masterauth|snmp-server community|acl setuser [^\n]{1,80}? >|r[ow]community6?"
        rb"|addauth digest \S{1,64}?:|auth default|erlang_cookie[\"']?[ \t]{0,4}[:=]"
        rb"|createuser[ \t]+\S{1,40}[ \t]+(?:md5|sha\S{0,8}))[ \t]*VALUE",
        is_password,
    ),
    (
        "command-password",
        "machine |default login",
        rb"(?:machine\s+\S{1,256}|default)\s+login\s+\S{1,256}\s+(?:account\s+\S{1,64}\s+)?password\s+(\S{1,256})",
        is_password,
    ),
    (
        "command-password",
        "curlopt_",
        rb"(?i:curlopt_(?:proxy)?userpwd)[^\"'\n]{0,16}[\"'][^:\"'\n]{1,64}:([^\"'\n]{1,128})[\"']",
        is_password,
    ),
    ("command-password", "securestring", rb"securestring(?:[ \t]+--?[a-z]+){0,3}[ \t]+QUOTED", is_password),
    (
        "sql-password",
        "identified",
        rb"identified\s+(?:with\s+\S{1,64}\s+)?(?:by|as)\s+(?:password\s+|values\s+)?QUOTED",
        is_password,
    ),
    ("sql-password", "identified by", rb"identified by[ \t]+VALUE", is_mixed),
    (
        "call-password",
        "credential(|credentials(|basicauth(|basic_auth(|basic_auth |authentication(|.login(|auth=(|auth = ("
        "|:basic, |authenticate(|directoryentry(|getconnection(|signwith(|.sign(|.connect(|wifi.begin(",
        rb":?[a-z_.]{1,24},?(?:[ \t]?=[ \t]?)?[( ]\s{0,8}"
        rb"(?:(?:[\"'][^\"'\n]{1,200}[\"']|[\w.$&]{1,40})\s{0,4},\s{0,24}){1,3}[bfr]?QUOTED",
        is_mixed,
    ),
    (
        "login-password",
        "login|credential|creds|user|zugangsdaten|identifiants|credenciales|credenziali",
        rb"(?:login|credentials?|creds|user(?:name)?|zugangsdaten|identifiants|credenciales|credenziali)"
        rb"(?:[ \t]{0,4}[:=](?:[ \t]{0,4}[\w.@-]{1,64}[ \t]{0,4}[/|][ \t]{0,4}|[ \t]{1,4}[\w.@-]{1,64}:)"
        rb"| [\w.@-]{1,64}\s*\n(?:[^\n]{0,80}\n)?pass )VALUE",
        is_mixed,
    ),
    ("command-password", "password 7 ", rb"password 7 ([0-9a-f]{8,64})\b", str.isalnum),
    ("command-password", "sso-key ", rb"sso-key [\w-]{8,60}:([\w-]{8,80})", is_token),
    ("command-password", 'send "|send -- "', rb'send (?:-- )?"([^"\\\n]{6,128})\\[rn]', is_made_up),
    ("unseal-key", "unseal key", rb"unseal key[ \t]\d{1,2}:[ \t]*([\w+/=]{40,100})", is_strong),
    (
        "recovery-codes",
        "recovery codes|backup codes",
        rb"[^\n:]{0,24}:\s{0,8}((?:[a-z0-9]{4,8}-?[a-z0-9]{4,8}[ ,;\n\t]{1,4}){3,15}[a-z0-9-]{8,17})",
        has_digits,
    ),
    (
        "command-password",
        "chpasswd:",
        rb"chpasswd:\s{1,20}[^\n]{0,40}list:[^\n]{0,40}\n\s{1,40}[\w-]{1,40}:(\S{1,128})",
        is_password,
    ),
    (
        "otp-seed",
        "setup key|authenticator|secret key",
        rb"[^\n:]{0,60}:\s{0,4}((?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4})\b",
        has_digits,
    ),
    ("bearer-token", "bearer ", rb"bearer[ \t]{1,3}([\w=~@.+/-]{12,})", is_token),
    (
        "signed-url",
        "sig=|signature=|code=|hmac=|sign=",
        rb"[a-z-]{3,24}=([A-Za-z0-9%+/_.~-]{16,400})={0,2}",
        is_token,
    ),
    (
        "session-cookie",
        "cookie:|--cookie|-b '|-b \"",
        rb"(?:cookie[: =]|-b )[^\n]{0,300}?[\w.-]{1,40}=([\w%+/=.~-]{24,1000})",
        is_token,
    ),
    (
        "private-key",
        '"d":|"d" :|\\"d\\":|"k":',
        rb"\\?\"[dk]\\?\"[ \t]?:\s{0,8}\\?\"([\w-]{22,700})\\?\"",
        is_strong,
    ),
    (
        "webhook",
        "hook",
        rb"hooks?(?:b2)?(?:[.-][\w.-]{1,40})?(?:/[\w.@-]{1,64}){0,6}?/([A-Za-z0-9_-]{20,100})",
        is_strong,
    ),
    (
        "seed-phrase",
        "mnemonic|phrase|paper key",
        rb"(?:mnemonic|phrase|paper key)[^\n:=]{0,24}[:=]\s{0,4}[\"'`]?"
        rb"((?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8})",
        str.islower,
    ),
)
"""A rule, what leads to it, where the secret stands then (in any case), and what it has to look like."""
PGPASS = (
    rb"^(?:[^\n]{0,80}[\s\"'`])?[\w.*-]{1,128}:(?:\d{2,5}|\*):[\w.*-]{1,64}:[\w.*@-]{1,64}"
    rb":([^\s:\"'`]{3,128})[\"'`]?\s*$"
)
PIPED = (
    rb"(?:echo|printf) +(?:-[a-zA-Z]+ +)?VALUE *\|[^|\n]{0,80}(?:sudo -S|-stdin|chpasswd|--with-token"
    rb"|--passphrase-fd|cryptsetup|secret (?:put|set|create)|kinit)"
)
MADE_SECURE = rb"QUOTED *\| *(?i:convertto-securestring)"
TOLD = rb"[\"'`]?([^\s\"'`]{6,128})[\"'`]? (?i:as|is) (?i:the |my |our )?(?i:password)"
STORED = (
    rb"(?i:set)[ \t]+[\"`\w]{1,40}[ \t]?=[ \t]?QUOTED[ \t]+(?i:where)[ \t]+[\"`\w]{1,40}[ \t]?=[ \t]?"
    rb"['\"][\w.-]{0,40}(?i:key|token|secret|password|pass|pwd|pw|salt|passphrase)['\"]"
)
CHAP = (
    rb"^[\"']?[\w.@*-]{1,64}[\"']?[ \t]+[\"']?(?:\*|[\w.-]{1,40})[\"']?[ \t]+VALUE[ \t]+(?:\*|[\d.:/]{3,40})"
)
LINES: tuple[tuple[str, bytes, Callable[[str], bool]], ...] = (
    (":5432:|:*:|:6432:", PGPASS, is_made_up),
    (" as password| as the password| is the password| is my password| is our password", TOLD, is_made_up),
    (
        "sudo -s|-stdin|chpasswd|--with-token|--passphrase-fd|cryptsetup|secret put|secret set|secret create"
        "|kinit",
        PIPED,
        is_password,
    ),
    ("convertto-securestring", MADE_SECURE, is_password),
    ("where name|where key|where setting|where option|where config|where meta", STORED, is_drawn),
    ("l2tpd|pptpd|pppd| chap ", CHAP, is_mixed),
)
"""The same for what is read from the beginning of its line."""
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
    """A private key in armour, with something in it: naming the header line is no leak. Each of its lines
    may have something in front, as in a log."""
    data = view.data
    head = compile_pattern(ARMOUR_HEAD).match(data, start, start + 128)
    if head is None:
        return None
    dashes = data.find(b"-----", head.end(), head.end() + KEY_CHARS_MAX)
    foot = compile_pattern(ARMOUR_FOOT).match(data, dashes + 5, dashes + 133) if dashes >= 0 else None
    end = foot.end() if foot else dashes if dashes >= 0 else min(len(data), head.end() + KEY_CHARS_MAX)
    rows = [row.end() for row in compile_pattern(ARMOURED).finditer(data, head.end(), end)]
    # Without its foot a key ends with the last of its rows.
    if rows:
        return SecretFinding("private-key", start, end if foot else rows[-1])
    return (
        SecretFinding("private-key", start, end)
        if compile_pattern(BELOW_HEAD).match(data, head.end(), end)
        else None
    )


def find_tail_of_key(view: View, start: int, _end: int) -> SecretFinding | None:
    """The end of a private key in armour whose beginning was cut off."""
    foot = compile_pattern(ARMOUR_FOOT).match(view.data, start + 5, start + 133)
    before = view.data[max(0, start - KEY_CHARS_MAX) : start]
    before = before[before.rfind(b"-----") + 5 :] if b"-----" in before else before
    rows = list(compile_pattern(ARMOURED).finditer(before)) if foot else []
    if (
        foot is None
        or not rows
        or not looks_random(before[rows[0].start() : rows[0].end()].decode("ascii"), 16)
    ):
        return None
    return SecretFinding("private-key", start - len(before) + rows[0].start(), foot.end())


def find_putty_key(view: View, start: int, _end: int) -> SecretFinding | None:
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
    """The password in `scheme://user:password@host`, or a token alone in front of the host."""
    match = compile_pattern(USERINFO).match(view.data, start, start + COMMAND_CHARS_MAX)
    if match is None:
        return None
    group = 1 if match.start(1) >= 0 else 0
    begin, end = (
        (match.start(1), match.end(1)) if group else (start + 3, view.data.rindex(b"@", 0, match.end()))
    )
    text, data = view.text[begin:end], view.data[begin:end]
    # The key in an address of Sentry only lets one send to it, and stands in every page that does.
    if not group and (not is_strong(text) or b"sentry" in view.data[end : end + HOST_CHARS_MAX]):
        return None
    # The bare word "password" is a password here: addresses with it are copied and used as they are.
    if text.lower() not in CREDENTIAL_NOUNS and is_placeholder(text, data):
        return None
    return SecretFinding("url-password", begin, end)


def find_bare_userinfo(view: View, start: int, end: int) -> SecretFinding | None:
    """The password in `user:password@tcp(host)` and `user/password@host:port`, which name no scheme."""
    if compile_pattern(HOST).match(view.data, end, end + 160) is None:
        return None
    begin = max(0, start - 200)
    match = compile_pattern(BARE_USERINFO).search(view.data[begin:start])
    if match is None or not is_picked(view.text[begin + match.start(1) : start]):
        return None
    return SecretFinding("url-password", begin + match.start(1), start)


def find_user_option(view: View, start: int, end: int) -> SecretFinding | None:
    """The password beside an option for a user: `curl -u user:password`, `-u user -p password`."""
    if start and view.data[start - 1] not in b" \t\r\n":
        return None
    match = compile_pattern(USER_OPTION).match(view.data, start, end + COMMAND_CHARS_MAX)
    if match is None:
        return None
    view.effort.left -= 16
    given = view.text[match.start(1) : match.end(1)].replace('"', "").replace("'", "")
    joint = compile_pattern(JOINED_TO_USER).search(given.encode("latin-1", "replace"))
    password = given[joint.end() :] if joint else ""
    is_sent = view.lower.rfind("curl", max(0, start - COMMAND_CHARS_MAX), start) >= 0
    if joint and is_drawn(given[: joint.start()]):
        # The name is the token, and what stands behind it says nothing.
        password = given
    if joint and (is_password(password or given) if is_sent else is_picked(password) and "/" not in password):
        return SecretFinding("command-password", match.start(1), match.end(1))
    begin, stop = line_around(view.data, start, end)
    if view.lower.find("mysql", begin, start) >= 0:
        # There it has no space before it, and what stands behind one is the database.
        return None
    for option in compile_pattern(PASSWORD_OPTION).finditer(view.data, begin, stop):
        view.effort.left -= 8
        if is_picked(view.text[option.start(1) : option.end(1)].strip("\"'")):
            return SecretFinding("command-password", option.start(1), option.end(1))
    return None


def line_around(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Where the line of what stands from `start` to `end` begins and stops, within its bound."""
    first = max(0, start - LINE_CHARS_MAX)
    stop = data.find(b"\n", end, end + LINE_CHARS_MAX)
    return data.rfind(b"\n", first, start) + 1 or first, stop if stop >= 0 else end + LINE_CHARS_MAX


def find_in_place(
    row: tuple[str, bytes, Callable[[str], bool]], view: View, start: int, _end: int
) -> SecretFinding | None:
    """A secret told by what leads to it, by a row of the table."""
    rule, pattern, is_it = row
    match = compile_pattern(pattern).match(view.data, start, start + MANIFEST_CHARS_MAX)
    return _in_place(view, match, rule, is_it)


def find_in_line(
    row: tuple[bytes, Callable[[str], bool]], view: View, start: int, end: int
) -> SecretFinding | None:
    pattern, is_it = row
    view.effort.left -= 16
    begin, stop = line_around(view.data, start, end)
    line = view.data[begin:stop]
    match = compile_pattern(pattern).search(line)
    if match is None or not is_it(view.text[begin + match.start(1) : begin + match.end(1)].strip("\"'")):
        return None
    return SecretFinding("command-password", begin + match.start(1), begin + match.end(1))


def place_detectors() -> Iterator[tuple[Detector, tuple[str, ...]]]:
    """What the tables come to: a detector for each row, and its anchors."""
    for programs, option in COMMANDS:
        pattern = (
            b"(?i:(?:"
            + programs.replace(" |", "|").rstrip().encode()
            + b")[^\\n]{0,200}?[ \\t]"
            + option
            + VALUE
            + b")"
        )
        yield partial(find_in_place, ("command-password", pattern, is_password)), tuple(programs.split("|"))
    for rule, anchors, pattern, is_it in PLACES:
        whole = b"(?i:" + pattern.replace(b"VALUE", VALUE).replace(b"QUOTED", QUOTED) + b")"
        yield partial(find_in_place, (rule, whole, is_it)), tuple(anchors.split("|"))
    for anchors, pattern, is_it in LINES:
        whole = pattern.replace(b"VALUE", VALUE).replace(b"QUOTED", QUOTED)
        yield partial(find_in_line, (whole, is_it)), tuple(anchors.split("|"))


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
            value = (
                _in_place(view, row, "kubernetes-secret", is_password, group=2) if row.end(2) > 0 else None
            )
            found += [value] if value else []
    return found, done


def _in_place(
    view: View, match: BytesMatch | None, rule: str, is_it: Callable[[str], bool], *, group: int = 1
) -> SecretFinding | None:
    if match is None:
        return None
    view.effort.left -= JUDGING_STEPS
    if not is_it(view.text[match.start(group) : match.end(group)].strip("\"'")):
        return None
    return SecretFinding(rule, match.start(group), match.end(group))


def _is_json_object(part: bytes) -> bool:
    bare = part.rstrip(b"=")
    try:
        decoded = urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))
        return isinstance(json.loads(decoded), dict)
    except (binascii.Error, ValueError, RecursionError):
        return False
