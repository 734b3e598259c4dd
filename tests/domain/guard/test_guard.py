"""The secret guard: what it refuses, what it lets pass, and where it says a secret stands."""

import base64
import json
from collections.abc import Callable

import pytest

from runlore.domain.guard import SecretFinding, find_secrets, first_secret, redact
from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.guard.providers import OPAQUE_SHAPES, SHAPES
from runlore.domain.guard.structures import find_manifest
from runlore.domain.guard.view import view_of
from tests.domain.guard import guard_samples as samples
from tests.domain.guard.guard_samples import RANDOM, WEAK, drawn, github_token
from tests.domain.guard.ordinary_texts import ORDINARY

pytestmark = pytest.mark.req("LRN-8")

BASIC = base64.b64encode(f"admin:{WEAK}".encode()).decode()
WORDS = "abandon ability about above absent absorb abstract absurd abuse access account acid"

ASSIGNMENTS = (
    f"API Key\n{RANDOM}",
    f"Acme SECRET Token\n  {RANDOM}\nCreated today",
    f"deepgram = {RANDOM}",
    f"VAR_17_TOKEN={RANDOM}",
    f"export it as acme_staging_{RANDOM}.",
    f"ajkey_{RANDOM}",
    f"api-key: {WEAK}",
    f"x-api-key: {WEAK}",
    f"clientSecret: {WEAK}",
    f"clientSecret: super{'secret'}",
    f"secret_token={WEAK}",
    f"personal access token={WEAK}",
    f"personal access token: {RANDOM}",
    f"Password: {'sword' + 'fish'}",
    f"password: {WEAK}",
    f"password is {WEAK}",
    f"my password is {WEAK}!",
    f"my password is {WEAK} for now",
    f"Password: {WEAK} and the user is bob",
    f"passphrase: {'open' + 'sesame'}",
    f"PGPASSWORD={'sword' + 'fish'} psql -h db",
    f'api_key = "{RANDOM}"',
    f"apiKey := `{RANDOM}`",
    f"OPENAI_API_KEY={RANDOM}",
    f"export TOKEN={RANDOM}",
    f"token: {RANDOM}",
    f"token:\n  {RANDOM}",
    f'var token string = "{RANDOM}"',
    f'$token .= "{RANDOM}"',
    f'"token" => "{RANDOM}"',
    f'System.setProperty("API_TOKEN", "{RANDOM}")',
    f'os.environ["API_TOKEN"] = "{RANDOM}"',
    f'token = os.getenv("API_TOKEN", "{RANDOM}")',
    f'if ("{WEAK}" == password) {{',
    f'if (password !== "{WEAK}") {{',
    f"--password {WEAK}",
    f"--api-key={RANDOM}",
    f"-ClientSecret '{WEAK}'",
    json.dumps({"auth": {"password": WEAK}}),
    json.dumps(json.dumps({"password": WEAK})),
    json.dumps({"name": "API_KEY", "value": RANDOM}),
    f"- name: DB_PASSWORD\n  value: {WEAK}",
    f"password: |\n  {WEAK}\n",
    f"<password>{WEAK}</password>",
    f"<apiToken>\n    {RANDOM}\n</apiToken>",
    f'<add key="Password" value="{WEAK}" />',
    f"| password | {WEAK} |",
    f"**Password:** `{WEAK}`",
    f"Server=db;User Id=sa;Password={WEAK};",
    f"https://example.org/callback?access_token={RANDOM}&state=1",
    f"user=admin&password={WEAK}",
    f"//registry.example.org/:_authToken={RANDOM}",
    f"The password for the staging database is {WEAK}",
    f"The API key for the weather service is {RANDOM}",
    f"API key (production): {RANDOM}",
    f"set the password to {WEAK}",
    f"Authorization: Bearer {RANDOM}",
    f'-H "Authorization: Token {RANDOM}"',
    f"Authorization: Basic {BASIC}",
    f"authorization bearer {RANDOM}",
    f"contraseña: {WEAK}",
    f"mot de passe : {WEAK}",
    f"Passwort: {WEAK}",
    f"пароль: {WEAK}",
    f"密码：{WEAK}",
    f"パスワード: {WEAK}",
    f"adafruit: {RANDOM}",
    f"new_relic_license_key = {RANDOM}",
)

STRUCTURES = (
    (
        "private-key",
        "-----BEGIN RSA PRIVATE KEY-----\n" + drawn("{alnum:64}") + "\n-----END RSA PRIVATE KEY-----",
    ),
    ("private-key", '"-----BEGIN PRIVATE KEY-----\\n' + drawn("{alnum:64}") + '\\n"'),
    (
        "private-key",
        "PuTTY-User-Key-File-2: ssh-rsa\nPublic-Lines: 0\nPrivate-Lines: 1\n" + drawn("{alnum:64}"),
    ),
    ("url-password", f"postgres://admin:{WEAK}@db.internal:5432/app"),
    ("url-password", f"redis://:{WEAK}@cache:6379"),
    ("url-password", "https://user:pass" + "@example.org"),
    ("command-password", f"curl -u admin:{WEAK} https://example.org"),
    ("command-password", f"curl -s --user 'admin:{WEAK}' https://example.org"),
    ("command-password", f"sshpass -p '{WEAK}' ssh host"),
    ("command-password", f"mysql -u root -p{WEAK} shop"),
    ("command-password", f"docker login -u me -p {WEAK}"),
    ("command-password", f"machine example.org login me password {WEAK}"),
    ("bearer-token", f"send it as bearer {RANDOM}"),
    ("signed-url", "https://store.example.org/c/b?sv=2024&sig=" + drawn("{alnum:43}") + "%3D"),
    ("seed-phrase", f"recovery phrase: {WORDS}"),
    ("kubernetes-secret", f"apiVersion: v1\nkind: Secret\ndata:\n  value: {BASIC}\n"),
    ("facebook-token", "facebook " + drawn("{digit:16}|{alnum:27}")),
)

MADE_UP = "Tr0ub4" + "dor"
ROWS = [drawn("{alnum:64}", seed) for seed in range(4)]
KEY = ("-----BEGIN RSA PRIVATE KEY-----", *ROWS, "-----END RSA PRIVATE KEY-----")
PASTED = (
    f"\x1b[32m{github_token()}\x1b[0m",
    f"\\u001b[32m{github_token()}\\u001b[0m",
    f"out:\\n{github_token()}\\nmore",
    f"saved {github_token()}.txt",
    "\n".join(f"2026-11-17T10:00:00Z INFO deploy | {row}" for row in KEY),
    "\n".join(f"\x1b[33m{row}\x1b[0m" for row in KEY),
    "\n".join(f"key.pem:12:{row}" for row in KEY),
    '" +\n"'.join(KEY),
    "\n".join(KEY[2:]),
    "\n".join(KEY[-2:]),
    f"CREATE USER 'app'@'%' IDENTIFIED BY '{MADE_UP}';",
    f"create user bob identified by {MADE_UP};",
    f"ALTER USER app IDENTIFIED WITH caching_sha2_password BY '{MADE_UP}'",
    f"SET PASSWORD FOR bob = PASSWORD('{MADE_UP}')",
    f"user: bob pass: {MADE_UP}",
    f"username bob password {MADE_UP}",
    f"login: bob / {MADE_UP}",
    f"use {MADE_UP} as the password",
    f"db.internal:5432:shop:app:{MADE_UP}",
    f"localhost:*:*:postgres:{MADE_UP}",
    f"default login me password {MADE_UP}",
    json.dumps({"kty": "EC", "crv": "P-256", "d": drawn("{word:43}")}),
    f'curl_setopt($ch, CURLOPT_USERPWD, "bob:{MADE_UP}");',
    f"ConvertTo-SecureString '{MADE_UP}' -AsPlainText -Force",
    f'new NetworkCredential("bob", "{MADE_UP}")',
    f'requests.get(url, auth=("bob", "{MADE_UP}"))',
    f'DriverManager.getConnection("jdbc:mysql://h/db", "root", "{MADE_UP}")',
    f"jdbc:oracle:thin:scott/{MADE_UP}@//h:1521/x",
    f'client.setPassword("{MADE_UP}")',
    f'.withApiKey("{RANDOM}")',
    f"ENV DB_PASS {MADE_UP}",
    f"setenv API_KEY {RANDOM}",
    f"psexec \\\\host -u bob -p {MADE_UP} cmd",
    f"ldapsearch -D cn=admin -w {MADE_UP} -b dc=x",
    f"smbclient //h/s -U bob%{MADE_UP}",
    f"openssl rsa -passin pass:{MADE_UP} -in k",
    f"keytool -storepass {MADE_UP}",
    f"echo '{MADE_UP}' | sudo -S ls",
    f"requirepass {MADE_UP}",
    f"define('NONCE_SALT', '{drawn('{alnum:40}')}');",
    f"<Pass>{MADE_UP}</Pass>",
    f"<AdministratorPassword><Value>{MADE_UP}</Value></AdministratorPassword>",
    f"<key>apiKey</key>\n<string>{RANDOM}</string>",
    f'variable "db_password" {{\n  default = "{MADE_UP}"\n}}',
    f'const API_KEY: &str = "{RANDOM}";',
    f'Dim pwd As String = "{MADE_UP}"',
    f"TOTP seed: {drawn('{base32:32}')}",
    f"https://x.example.org/f?sig={drawn('{alnum:30}')}",
    f"https://x.example.org/f?a=1&signature={drawn('{alnum:40}')}",
    f"https://app.example.org/cb?code={drawn('{alnum:32}')}&state=1",
    f"https://d.example.org/a?Expires=1&Signature={drawn('{alnum:80}')}&Key-Pair-Id=X",
    f"https://{drawn('{alnum:40}')}@git.example.org/o/r.git",
    f"Set-Cookie: sid={drawn('{alnum:40}')}; Path=/",
    f"sk-{drawn('{alnum:24}')}",
    f"sk-svcacct-{drawn('{word:60}')}",
    f"frobco_live_{drawn('{alnum:24}')}",
    f"frob_{drawn('{alnum:36}')}",
    f"FROBNICATOR = '{drawn('{alnum:40}')}'",
    "".join(f"\\u{ord(char):04x}" for char in github_token()),
    "".join(f"\\x{ord(char):02x}" for char in github_token()),
    "".join(f"&#{ord(char)};" for char in github_token()),
    "".join(f"&#x{ord(char):x};" for char in github_token()),
    base64.b32encode(f"token {github_token()}".encode()).decode(),
    base64.b64encode(f"set token {github_token()}".encode("utf-16-le")).decode(),
    f'var secret = []byte("{RANDOM}")',
    f'Password: aws.String("{RANDOM}"),',
    f'public string ApiKey {{ get; set; }} = "{RANDOM}";',
    f'password <- "{MADE_UP}"',
    f'<string name="api_key">{RANDOM}</string>',
    f"<td>Password</td><td>{MADE_UP}</td>",
    f"| user | password |\n|---|---|\n| bob | {MADE_UP} |\n| eve | {MADE_UP} |",
    f"name,url,username,password\nx,https://x.example.org,bob,{MADE_UP}",
    f"INSERT INTO users (name, password) VALUES ('bob', '{MADE_UP}');",
    f"- --password\n- {MADE_UP}",
    f"auth_pass {MADE_UP}",
    f"rootpw --plaintext {MADE_UP}",
    f"auth0 secret {drawn('{alnum:40}')}",
    f"setx API_TOKEN {RANDOM}",
    f"net user bob {MADE_UP} /add",
    f"http -a bob:{MADE_UP} GET https://x.example.org",
    f"+ curl -su 'bob:{MADE_UP}' https://x.example.org",
    f"frobctl -U bob -P {MADE_UP} status",
    f"frobctl -p {MADE_UP} --user bob status",
    f"xfreerdp /v:h /u:bob /p:{MADE_UP}",
    f"echo {MADE_UP} | passwd --stdin bob",
    f'("{MADE_UP}" | ConvertTo-SecureString -AsPlainText -Force)',
    f"aws ssm put-parameter --type SecureString --value '{MADE_UP}'",
    f"220 hello\nUSER bob\n331 go on\nPASS {MADE_UP}\n230 ok",
    f"CREATE LOGIN bob WITH PASSWORD = N'{MADE_UP}';",
    f"cy.get('[name=password]').type('{MADE_UP}!')",
    f"la password del server è {MADE_UP}!",
    f'expect "password:"\nsend "{MADE_UP}!"',
    f"Das Passwort ist {MADE_UP}",
    f"le mot de passe est {MADE_UP}",
    f"la contraseña es {MADE_UP}",
    f"la password è {MADE_UP}",
    f"パスワードは「{MADE_UP}」です",
    f"пароль это {MADE_UP}",
    f"API-Schlüssel: {RANDOM}",
    f"Zugangsdaten: bob / {MADE_UP}",
    f"the password is “{MADE_UP}”",
    f"bob:{MADE_UP}@tcp(db.example.org:3306)/app",
    f"bob/{MADE_UP}@db.example.org:1521/ORCL",
    f'DriverManager.getConnection(url, "bob", "{MADE_UP}");',
    f"http.basic_auth 'bob', '{MADE_UP}'",
    f'.signWith(SignatureAlgorithm.HS256, "{RANDOM}")',
    f"co = frobnicate.Client('{drawn('{alnum:40}')}')",
    f"here it is: use {drawn('{alnum:40}')} for now",
    f"rollbar.init('{drawn('{hex:32}')}', 'production')",
    "password: tiger.Falcon511",
    "license_key: H2PM1-G6QY5-YE2V2-K4LG0-H81TH",
    f"Private-Lines: 1\n{drawn('{alnum:64}')}\n",
    f"export GITHUB_TOKEN={github_token()[:20]}\\\n{github_token()[20:]}",
    f'"{github_token()[:20]}" +\n  "{github_token()[20:]}"',
    f"net use Z: \\\\srv\\share /user:bob {MADE_UP}",
    f"tacacs-server key {MADE_UP}",
    f"rabbitmqctl add_user bob {MADE_UP}",
    f"ssh-keygen -t ed25519 -N '{MADE_UP}' -f k",
    f"    Key Content            : {MADE_UP}",
    f"public $secret = '{drawn('{alnum:16}')}';",
    f"ldap_default_authtok = {MADE_UP}",
    f"radius server X\n address ipv4 10.1.1.1\n key {MADE_UP}",
    f"set psksecret ENC {drawn('{alnum:64}')}=",
    f"uci set wireless.@wifi-iface[0].key='{MADE_UP}'",
    f"bundle config gems.example.org bob:{MADE_UP}",
    f"[smtp.example.org]:587 bob@example.org:{MADE_UP}",
    f"sqlplus bob/{MADE_UP}@ORCL",
    f"[admins]\nadmin = {MADE_UP}",
    f"$USER5$={MADE_UP}",
    f"accounts: ['0x{drawn('{hex:64}')}']",
    f"curl http://192.168.1.20/api/{drawn('{alnum:40}')}/lights",
    f"frobsearch('{RANDOM[:10]}', '{drawn('{hex:32}')}')",
    f"curl -u {drawn('{alnum:20}')}:X https://x.example.org",
    f'"bob" l2tpd "{MADE_UP}" *',
    f"printf '{MADE_UP}' | docker secret create db -",
    f"frob.py ACME/bob:{MADE_UP}@10.0.0.5",
    f"UPDATE settings SET value = '{drawn('{hex:32}')}' WHERE name = 'frob_api_key'",
    f"$settings['hash_salt'] = '{RANDOM}{RANDOM}';",
    f"<password>{{{drawn('{alnum:60}')}=}}</password>",
    f"<frobKey>{drawn('{hex:32}')}</frobKey>",
    f"het wachtwoord van de server is {MADE_UP}",
    f"the ftp pass is {MADE_UP}",
    f"db_password {drawn('{lower:24}')}",
    f"frob_key {drawn('{alnum:32}')}",
    f"FROB_KEY={'Qx7vTbd9K2m' + 'Lp0ZrW4sN8c'}",
    f"please use bkzat_{drawn('{hex:40}')} for it",
    f"please use frob_ptr_{drawn('{alnum:24}')}/{drawn('{alnum:30}')}= for it",
    f"please use frob_cloud_user_{drawn('{alnum:48}')} for it",
    f"please use frob_{drawn('{alnum:40}')}.eu for it",
)
"""What people paste: out of terminals, files, databases and code."""

MARKERS = ("<redacted>", "<redacted:email>", "[REDACTED]", "[redacted]", "***REDACTED***", "token=[FILTERED]")

DIGESTS = (
    *("web_{hex:64}", "app_{hex:64}", "auto_{hex:64}", "key_{hex:64}", f"{samples.UUID}:fx"),
    *("monkey_{hex:40}", "hotkey_{hex:32}", "primarykey_{hex:40}", "cachekey_{hex:64}"),
    *("dev_{hex:40}", "staging_{hex:64}", "preview_{hex:40}", "prod_{hex:64}", "test_{hex:40}"),
    *("ROLLBAR_REVISION={hex:40}", "BUGSNAG_REVISION: {hex:40}", "bitrise_commit: {hex:40}"),
    *("GITHUB_SHA={hex:40}", "VERCEL_GIT_COMMIT_SHA={hex:40}", "github_commit: {hex:40}"),
    *("HEROKU_SLUG_COMMIT={hex:40}", "SENTRY_RELEASE={hex:40}", "docker_digest: {hex:64}"),
)
"""What names a state of something: a commit, an image, a row."""
NO_DIGESTS = (
    *("live_{hex:40}", "apikey_{hex:40}", "secretkey_{hex:40}", "staging_{alnum:40}", "ajkey_{alnum:32}"),
    *("PERCY_TOKEN=web_{hex:64}", "CURSOR_API_KEY=key_{hex:64}", "GITHUB_TOKEN={hex:40}"),
    *("ROLLBAR_REVISION_TOKEN={hex:32}", "github: {hex:40}", "GITHUB_SHA={alnum:40}"),
)


@pytest.mark.parametrize("seed", range(3))
def test_a_digest_is_no_secret_and_what_only_looks_like_one_is(seed: int) -> None:
    found = {form: bool(find_secrets(f"see {drawn(form, seed)} there")) for form in (*DIGESTS, *NO_DIGESTS)}

    assert found == dict.fromkeys(DIGESTS, False) | dict.fromkeys(NO_DIGESTS, True)


@pytest.mark.parametrize(("rule", "form"), samples.SHAPES)
def test_a_token_of_a_known_shape_is_found_where_it_stands(rule: str, form: str) -> None:
    token = drawn(form)
    text = f"For the deployment we use {token} in staging."

    (finding,) = find_secrets(text)

    assert finding.rule == rule
    assert token.endswith(text[finding.start : finding.end])


def test_every_rule_of_the_table_has_a_sample() -> None:
    general = {"prefixed-token", "webhook", "assignment"}
    rules = {shape.rule for shape in (*SHAPES, *OPAQUE_SHAPES)}

    assert {rule for rule, _ in samples.SHAPES} == rules | general


@pytest.mark.parametrize("shape", [*SHAPES, *OPAQUE_SHAPES], ids=lambda shape: shape.rule)
def test_every_shape_compiles_and_has_an_anchor_in_lower_case(shape: object) -> None:
    pattern, anchors = getattr(shape, "pattern", b""), getattr(shape, "anchors", ())

    assert compile_pattern(pattern).search(b"") is None
    assert all(anchor == anchor.lower() for anchor in anchors)
    assert bool(anchors) == (shape in SHAPES)


@pytest.mark.parametrize("text", ASSIGNMENTS)
def test_a_value_given_to_a_credential_is_found(text: str) -> None:
    found = find_secrets(text)

    assert any(
        secret in text[finding.start : finding.end] for finding in found for secret in secrets_in(text)
    )


@pytest.mark.req("SEC-4")
@pytest.mark.parametrize("text", PASTED)
def test_what_people_paste_is_found_and_none_of_it_is_left(text: str) -> None:
    clean, count = redact(text)

    assert count
    assert first_secret(text) is not None
    assert not any(secret in clean for secret in (MADE_UP, RANDOM, github_token(), ROWS[3][8:]))


@pytest.mark.parametrize(("rule", "text"), STRUCTURES)
def test_a_secret_is_found_by_what_is_around_it(rule: str, text: str) -> None:
    assert rule in {finding.rule for finding in find_secrets(text)}


@pytest.mark.parametrize("text", MARKERS)
def test_a_redaction_marker_is_a_finding_and_stays_as_it_is(text: str) -> None:
    assert {finding.rule for finding in find_secrets(text)} == {"redaction-marker"}
    assert redact(text) == (text, 0)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_passes(text: str) -> None:
    assert find_secrets(text) == ()
    assert first_secret(text) is None
    assert redact(text) == (text, 0)


def test_a_signed_token_needs_a_header_that_is_an_object() -> None:
    header, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in PARTS
    )
    signature = drawn("{word:43}")

    assert rules_in(f"use {header}.{body}.{signature} now") == ["jwt"]
    assert rules_in(f"use {header[:-3]}.{body}.{signature} now") == []


PARTS = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "A. Person"})


def test_findings_are_in_order_and_name_the_most_specific_rule() -> None:
    text = f"token={github_token()} then password: {WEAK} and [REDACTED]"

    found = find_secrets(text)

    assert [finding.rule for finding in found] == ["github-token", "assignment", "redaction-marker"]
    assert [text[finding.start : finding.end] for finding in found] == [github_token(), WEAK, "[REDACTED]"]


def test_redaction_replaces_each_secret_by_the_name_of_its_rule() -> None:
    text = f"token={github_token()}, postgres://admin:{WEAK}@db/app, [REDACTED]"

    assert redact(text) == (
        "token=<redacted:github-token>, postgres://admin:<redacted:url-password>@db/app, [REDACTED]",
        2,
    )


def test_a_secret_inside_a_marker_is_still_removed() -> None:
    text, count = redact(f"<redacted {github_token()}>")

    assert (text, count) == ("<redacted <redacted:github-token>>", 1)


@pytest.mark.parametrize("rows", [1, 3, 8, 20])
@pytest.mark.parametrize("indent", ["", "    "])
def test_every_value_of_a_manifest_is_found_and_nothing_behind_its_data(rows: int, indent: str) -> None:
    values = [drawn("{alnum:30}"), *(drawn("{alnum:32}") for _ in range(rows)), drawn("{alnum:900}")]
    given = "".join(f"{indent}  v{row}: {value}\n" for row, value in enumerate(values[1:]))
    text = (
        f"{indent}kind: Secret\n{indent}data:\n{indent}stringData:\n{indent}  mode: example\n\n"
        f"{indent}  v: '{values[0]}'\n{indent}data:\n{given}"
        f"{indent}metadata:\n{indent}  uid: v1.2-quiet_otter\n"
    )
    found = [finding for finding in find_secrets(text) if finding.rule == "kubernetes-secret"]
    assert [text[one.start : one.end] for one in found] == values
    clean, count = redact(text)
    assert count == len(values)
    assert "mode: example" in clean
    assert "uid: v1.2-quiet_otter" in clean
    start = text.index("kind")
    assert find_manifest(view_of(text), start, start + 12) == found[0]


def test_a_very_long_value_is_redacted_to_its_end() -> None:
    assert redact("password=" + drawn("{alnum:5000}")) == ("password=<redacted:assignment>", 1)


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_both_alphabets_of_base64_are_read(encode: Callable[[bytes], bytes]) -> None:
    blob = encode(f"??>>??>> password: {WEAK}".encode()).decode()

    assert redact(f"see {blob} there") == ("see <redacted:assignment> there", 1)


def test_a_finding_cannot_say_what_was_found() -> None:
    finding = first_secret(f"password: {WEAK}")

    assert finding == SecretFinding("assignment", 10, 17)
    assert WEAK not in repr(finding)


def secrets_in(text: str) -> list[str]:
    known = (WEAK, RANDOM, BASIC, "sword" + "fish", "open" + "sesame", "super" + "secret")
    return [secret for secret in known if secret in text]


def rules_in(text: str) -> list[str]:
    return [finding.rule for finding in find_secrets(text)]


DENSE = {
    "a lock file of npm": '"integrity": "sha512-{alnum:43}+{alnum:42}==", "resolved": "https://r.example/p/-/p-1.tgz"',
    "a lock file of Python": '{{ file = "p-py3-none-any.whl", hash = "sha256:{hex:64}" }},',
    "ids": f'{{"id": "{samples.UUID}", "etag": "{{hex:32}}", "count": 7}}',
    "sums of files": "{hex:64}  file.bin",
    "usage of a model": '{"usage": {"input_tokens": {digit:5}, "output_tokens": {digit:4}}}',
    "a picture": "{alnum:76}",
}
WORDY = {
    "code of a client": """def get_{lower:6}(self, api_key: str, timeout: float = 60.0) -> Key:
    # The server answers with what it has stored, and with nothing where the item is not there any more.
    answer = self._post("/v1/keys/{lower:9}", key=api_key, body=body, timeout=timeout, headers=headers)
    return self._read(answer) if answer.status == self._expected else self._fail(answer, self._attempts)
""",
    "a log": "INFO refreshed the token of user {digit:4}, path=/v1/items/{lower:16}, session {hex:16},"
    " took {digit:3} ms on node {digit:2} of the cluster, then went on to the next"
    " item of the queue, which another worker had left behind when it was stopped; key={digit:4}",
}


@pytest.mark.req("SEC-4")
@pytest.mark.parametrize(
    ("form", "kilobytes"),
    [*((form, 293) for form in DENSE.values()), *((form, 529) for form in WORDY.values())],
    ids=[*DENSE, *WORDY],
)
def test_dense_text_of_machines_is_read_to_its_end(form: str, kilobytes: int) -> None:
    lines, size = list[str](), 0
    while size < kilobytes * 1024:
        lines.append(drawn(form, seed=len(lines)))
        size += len(lines[-1])

    assert first_secret("\n".join(lines)) is None
