"""The words of the guard: what names of credentials promise, and which values only stand in for a secret.

Documentation and code are full of masks, templates, references, types and plain words. Refusing them would
teach people to work around the guard.

Which names promise a credential, in the spellings people and programs use.

`apiKey`, `API_KEY`, `api-key`, `x-api-key` and "API key" are the same two words here. A name is
judged by its words: what it names, what qualifies that, and what follows. `token_budget` is a
budget and `csrf-token` is public, so neither promises anything.
"""

import hashlib
import re
from enum import IntEnum
from itertools import groupby, pairwise

from runlore.domain.guard.patterns import matches
from runlore.domain.text.word_tables import words

DIGITS = "0123456789"
WORD = re.compile(r"(?:[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+)\d*|\d+")


class Promise(IntEnum):
    """How much a name says about its value; the more it says, the less the value has to show."""

    NOTHING = 0
    SERVICE = 1
    KEY = 2
    CREDENTIAL = 3
    EXPLICIT = 4
    PASSWORD = 5


def promise_of(words: tuple[str, ...], context: tuple[str, ...] = ()) -> Promise:
    """What a name promises, by its words and by the words in front of it in prose."""
    promises = [_noun_promise(word.rstrip(DIGITS)) for word in words]
    if not any(promises):
        return Promise.SERVICE if _names_service(words) and not _is_about(words) else Promise.NOTHING
    at = _noun_position(promises)
    before = (*context, *words[:at])
    is_about = _is_about(words[at + 1 :]) and words[at:] not in SECRET_IDS
    if is_about or not UNREAL.isdisjoint(before) or not PLACES.isdisjoint(words[:at]):
        return Promise.NOTHING
    if promises[at] is not Promise.PASSWORD and words[at] not in SALTS and not PUBLIC.isdisjoint(before):
        return Promise.NOTHING
    return Promise.EXPLICIT if _is_qualified(words[at], before) else promises[at]


def form_of(words: tuple[str, ...]) -> bytes | None:
    """The one form that a token of the service in a name can have, where there is only one."""
    return next((ONLY_FORMS[word] for word in words if word in ONLY_FORMS), None)


def names_digest(words: tuple[str, ...]) -> bool:
    """Whether a name says that its value tells one state of something from another, as a commit's does."""
    return any(word.startswith(DIGEST_WORDS) for word in words)


def words_of(name: str) -> tuple[str, ...]:
    """The words of an identifier: cut at punctuation, at capitals after small letters, after digits."""
    return tuple(word.lower() for word in WORD.findall(name))


def _noun_promise(stem: str) -> Promise:
    if stem in PASSWORDS or (stem.endswith(PASSWORD_ENDINGS) and stem not in NO_PASSWORDS):
        return Promise.PASSWORD
    if stem in EXPLICITS or stem.endswith(EXPLICIT_ENDINGS):
        return Promise.EXPLICIT
    if stem in TOKENS or stem in SECRETS or stem in AUTHS or stem.endswith(CREDENTIAL_ENDINGS):
        return Promise.CREDENTIAL
    return Promise.KEY if stem in KEYS else Promise.NOTHING


def _noun_position(promises: list[Promise]) -> int:
    """Where the noun of a name stands: the first that says enough by itself, or else the last."""
    for at, promise in enumerate(promises):
        if promise >= Promise.EXPLICIT:
            return at
    return max(at for at, promise in enumerate(promises) if promise)


def _is_qualified(noun: str, before: tuple[str, ...]) -> bool:
    stem = noun.rstrip(DIGITS)
    if not before or stem in AUTHS or _noun_promise(stem) > Promise.CREDENTIAL:
        return False
    qualifiers = KEY_QUALIFIERS if stem in KEYS else QUALIFIERS
    return before[-1] in qualifiers or before[-1] in SECRETS or _names_service(before)


def _is_about(after: tuple[str, ...]) -> bool:
    return bool(after) and (after[-1] in ABOUT or after[0] in ABOUT)


def _names_service(words: tuple[str, ...]) -> bool:
    return not SERVICES.isdisjoint(words) or any(pair in SERVICES_OF_TWO_WORDS for pair in pairwise(words))


def words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


PASSWORDS = words_in("""
    password passwd authtok passwrd passphrase passcode pwd pass pw passw mypwd psk
    passe passwort kennwort contraseña contrasena senha wachtwoord hasło haslo heslo salasana
    lösenord losenord adgangskode passord parola parole jelszó şifre пароль mdp contrasenya lozinka geslo
    parool lykilorð slaptažodis парола лозинка κωδικός סיסמה المرور पासवर्ड รหัสผ่าน khẩu sandi
    密码 密碼 口令 暗証番号 パスワード 비밀번호
""")
SECRETS = words_in("secret secrets secrete credential credentials cred creds salt seed")
SALTS = words_in("salt salts")
"""What is secret also where it is a hash's."""
TOKENS = words_in("token tokens pat jwt bearer")
AUTHS = words_in("auth authorization")
KEYS = words_in("key keys schlüssel schluessel sleutel clé clave chiave chave klucz ключ 密钥 キー")
EXPLICITS = words_in("""
    apikey apitoken apisecret accesskey accesstoken authtoken authkey secretkey secrettoken privatekey
    clientsecret appsecret appkey accountkey sharedaccesskey signingkey encryptionkey masterkey
    refreshtoken bearertoken idtoken sessiontoken usertoken bottoken deploykey licensekey storagekey
    webhooksecret consumersecret connectionstring xapikey phpsessid jsessionid
""")
"""Names of two words that are often written as one, as in .npmrc files and query parameters."""
SECRET_IDS = {("secret", "id")}
"""Names of what logs a machine in, with an id that nobody else may know."""
PASSWORD_ENDINGS = ("password", "passwd", "passphrase", "pwd", "pass", "pw")
NO_PASSWORDS = words_in("bypass compass encompass trespass surpass overpass underpass")
"""Words with the same ending."""
EXPLICIT_ENDINGS = ("apikey", "apitoken", "authtoken", "accesstoken", "secretkey", "clientsecret")
CREDENTIAL_ENDINGS = ("token", "secret")

KEY_QUALIFIERS = words_in("""
    api access secret private signing encryption master account shared deploy license licence
    subscription auth oauth jwt hmac aes ssh gpg pgp tls ssl rsa iam host authorization
""")
"""Words directly in front of "key" that make it a credential."""
QUALIFIERS = KEY_QUALIFIERS | words_in("""
    client personal refresh bearer signature service deployment storage session webhook consumer app
    application bot user admin root ingest integration upload publish registry robot runner machine vault
""")
"""Words directly in front of "token" or "secret" that make it a credential."""

UNREAL = words_in("no not non without fake dummy example sample mock placeholder")
"""Words in front of a noun that say it is none."""
PLACES = words_in("to from")
"""Words in an identifier that say it is about where a credential goes."""
PUBLIC = words_in("""
    public pub publishable csrf xsrf primary foreign partition sort cache hot natural sequence schema
    bucket unique row object routing idempotency dictionary index idx next page continuation cursor
    pagination stop eos bos pad unk mask max min num total input output prompt completion design cancel
    cancellation known idle ha accelerator answer authenticity verification valid map shortcut hash site
    sitekey
""")
"""Words in front of "key" or "token" that make it something anybody may see."""
ABOUT = words_in("""
    id ids name names file files filename path paths dir url uri urls endpoint host length len size type
    types count counts counter limit limits budget budgets expiry expires expired expiration expire ttl
    lifetime usage policy rotation reset field fields format hash hashed algorithm alg manager provider
    header headers extra options config settings prefix suffix regex pattern min max days hours at on by
    enabled disabled required optional hint label description class version env var variable ref arn
    alias location store storage ring tab board code codes frame frames pair pairs press pressed
    signature signatures signing stone word words up down left right event events selector mesh meshing
    chars char vault results result source sources status state strategy scheme method methods mode flow
    flows guard service middleware handler kind issuer error errors message prompt placeholder input
    title exchange validation validator strength protection management rate price cost costs window per
    s space map list set level bits bit index idx accessor visibility visible toggle scanning scan
    detection distance changed updated created test tests spec check checking
    go py ts tsx js jsx md json yaml yml toml rs java rb sh txt html css lock
""")
"""Words after a noun that make it something about the credential, or a file."""

GETTERS = words_in("""
    get find read fetch load has have is check validate verify hash prompt ask generate make create encode
    decode compare test describe it require lookup show print log input reset forgot delete remove list use
    on handle parse mask redact hide strip
""")
"""What a function that does not take a credential does to one."""

SERVICES = words_in("""
    abuseipdb adafruit adobe ai21 aikido airbrake airtable algolia alibaba aliyun amplitude anthropic
    apify artifactory asana assemblyai atlassian authress aviationstack azure beamer bitbucket bitrise
    bittrex braintree browserstack bugsnag bundle buttercms calendly cartesia censys chartmogul circleci
    clarifai clearbit clickhouse clickup clojars cloudant cloudflare cloudinary cloudsight codacy
    codeclimate codecov cohere coinbase composio configcat confluence confluent contentful contribsys
    couchbase crossmint databricks datadog deepgram deepl deepseek digitalocean discord dnsimple docker
    dockerhub doppler droneci dropbox duffel dynatrace easypost elastic elevenlabs etsy facebook fastly
    filestack finicity finnhub firebase flickr flutterwave flyio frameio freshbooks gcp gemini geocodio
    github gitlab gitter gocardless grafana groq gumroad harness helpscout heroku honeycomb hubspot
    huggingface ibm imgix infracost intercom ipdata ipinfo ipstack jenkins jfrog jira klaviyo kraken
    kucoin lambdatest langfuse langsmith launchdarkly lemonsqueezy linkedin liveblocks lob loggly logzio
    looker mailchimp mailerlite mailgun mailjet mapbox mattermost maxmind meilisearch meraki messagebird
    mistral mixpanel mongodb moralis netlify newrelic nightfall npm nuget nytimes octopus okta onesignal
    openai opencage openrouter openshift openweather openweathermap opsgenie pagerduty papertrail paypal
    perplexity pinecone pingdom pipedrive plaid planetscale plivo posthog postman postmark prefect
    privateai pubnub pulumi pushover pypi qdrant quicknode rapidapi readme replicate rollbar rubygems
    runpod saucelabs scaleway scalingo scrapingbee segment sendbird sendgrid sendinblue sentry serpapi
    settlemint shippo shodan shopify sidekiq signalwire slack smartsheet snowflake snyk softlayer sonar
    sonarqube sourcegraph splunk spotify squarespace statuspage stripe stytch sumo sumologic supabase
    surveymonkey tavily telegram terraform todoist travis travisci trello twilio twitch twitter typeform
    typesense upstash urlscan vercel vimeo virustotal vonage vultr weaviate webflow wistia wrike yandex
    zapier zendesk zeplin zoho zoom sl clou cos
""")
SERVICES_OF_TWO_WORDS = frozenset(
    {("new", "relic"), ("message", "bird"), ("linked", "in"), ("private", "ai")}
)
ONLY_FORMS = {"telegram": rb"^\d{5,16}:A[\w-]{34}$", "meraki": rb"^[0-9a-f]{40}$"}
"""Services whose tokens have one form only: anything else given to their name is not their token."""

DIGEST_WORDS = ("sha", "commit", "revision", "release", "digest", "hash", "etag", "version")
"""How a word begins in a name behind which 40 or 64 hexadecimal digits are no secret."""
DIGEST = rb"^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$"

NAME_ANCHORS = (
    words_in("pass pw secret cred token pat jwt bearer auth key sessid connectionstring salt seed psk")
    | {word for word in PASSWORDS | KEYS if not word.startswith(("pass", "pw", "key"))}
    | {word for word in SERVICES if len(word) >= 5}
)
"""What the prefilter looks for: every name that promises something has one of these in it."""

PLACEHOLDERS = words_in("""
    your yours example examples placeholder changeme change changeit dummy fake sample insert replace
    todo redacted hidden masked here tbd fixme foo foobar lorem notset somevalue whatever put enter not yyy
""")
PLACEHOLDER_PARTS = (
    "fake",
    "dummy",
    "example",
    "placeholder",
    "changeme",
    "yourpass",
    "yourkey",
    "yourtoken",
)
CREDENTIAL_NOUNS = words_in("""
    key keys apikey token tokens secret secrets password passwd passphrase pwd pass pw credential
    credentials creds auth jwt bearer authorization clientsecret accesstoken authtoken accesskey secretkey
""")
"""What the name of a secret ends with, where the secret itself should stand."""
METHODS = words_in("""
    base64 base32 sha sha1 sha256 sha512 md5 bcrypt scrypt argon2 argon2id pbkdf2 hs256 rs256 es256 oauth2
    ed25519 aes aes128 aes256 aes256gcm 3des 128bit 256bit rsa2048 rsa4096 p12 pkcs8 pkcs12 x509 2fa utf
    utf8 utf16 ipv4 ipv6 http2 es6 python3 k8s s3 ec2 gpt4
""")
"""Technical words with digits in them, which are no passwords."""
PLAIN_WORDS = words_in("""
    test anything true false yes no none null nil undefined nan on off ok string str text int integer
    number bool boolean bytes byte char varchar object array list dict any unknown void type required
    optional mandatory missing invalid valid expired empty blank default auto automatic manual enabled
    disabled supported unsupported encrypted hashed plain plaintext cleartext hidden private public
    protected internal external local global set unset needed never always sometimes same changed rotated
    reset stored basic bearer digest oauth oauth2 jwt saml ldap oidc sso mfa totp rsa aes hmac ed25519
    base64 hex uuid env environment vault keychain keyring the a an this that these those it its is are
    was be been being has have had will would can could should may must to for from with without and or of
    in at by as if when where how what which who via use uses used using see get gets store stores enter
    ask provide provided per not only also your my our their his her user users admin username email name
    value values field prompt input generate generated create update delete server client application
    service issuer owner free paid low medium high critical strong weak short long min max one two three
    first second both each every all some most more less other another new old current const let var
    function return import export class def self pending active inactive revoked compromised leaked stolen
    forgotten lost wrong correct incorrect safe secure insecure important sensitive confidential
""")
"""What people and types say after a name instead of a secret."""

COMMON_PAIRS = words_in("""
    ab ac ad ag ai al am an ap ar as at ay ba be bi bl bu ca ce ch ci ck cl co cr ct cu da dd de di do
    ds du ea ec ed ee ef eg el em en ep er es et ev ew ex fa fe ff fi fo fr fu ge gi gn gs ha he hi ho
    ia ib ic id ie if ig il im in io ip ir is it iv iz ke la ld le li ll lo ls lt lu ly ma mb me mi mo
    mp ms na nc nd ne nf ng ni no ns nt nu nv ob oc od og ol om on oo op or os ot ou ov ow pa pe pi pl
    po pp pr pt pu qu ra rc rd re rg ri rm rn ro rr rs rt ru ry sa sc se sh si sl so sp ss st su ta tc
    te th ti tl to tr ts tt tu ty ub ue ul um un up ur us ut va ve vi wa wi xp xt ze
""")
"""Nine tenths of the letter pairs in English words and identifiers; of random pairs, three in ten."""


# `$TOKEN`, `${TOKEN}`, `$(cmd)`, `{{ token }}`, `<token>`, `%TOKEN%`, `%s`, `[token]`, `@token@`, `:token`.
TEMPLATE = (
    rb"^(?:\$[A-Za-z_][\w.:-]*$|\$[{(\d]|\{\{|#\{|<|@[\w.]+@$|%[A-Za-z_]+%$|%[-+#0 ]?[a-zA-Z]$|%\("
    rb"|\{[\w.: -]*\}?$|\[[\w .-]*\]?$|__\w+__$|:[a-z_]+$|\\[({]|\{[\"']|\^\w+\^|\?[a-z]+$"
    rb"|\+[ \t]+[A-Za-z_]|\+[A-Za-z_]+(?:[.(\[]|$))"
)
# What people type over a secret, or an ellipsis where they cut it.
MASK = (
    rb"[xX]{5,}|(?:^|[^A-Za-z])[xX]{3,}(?:$|[^A-Za-z])|(?:1234-){2,}|123456789012345"
    rb"|[*#\xb7]{3,}|\.{3,}|\xff{3,}"
)
CONSTANT = rb"^[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)+$"
PRODUCT_KEY = b"|".join(rb"^[A-Z0-9]{%d}(?:-[A-Z0-9]{%d}){3,7}$" % (size, size) for size in (4, 5, 6))
PRODUCT_PARTS_MIN = 3
TEMPLATE_OR_MASK = TEMPLATE + b"|" + MASK
RUN_CHARS = frozenset(b"xX0123456789aA_-.")
SHORT_WORD_CHARS = 3
PARTS = re.compile(r"[^a-z]+")
READ_CHARS_MAX = 128
"""How much of a value is read to see whether a person wrote it."""

# `config.token`, `settings::TOKEN`: also the form of some tokens, so the value decides.
DOTTED = rb"^[!&(\[]{0,3}[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[\])!?;,]*$"
# `get_token()`, `environ["X"]`, `Optional<T>`, `nextToken`, `next_token`, `&token`, `/run/x`, `s3://`, `--x`.
CODE = (
    rb"^[!&(\[]{0,3}(?:[A-Za-z_$][\w$.]*[(\[<\]]|[A-Za-z_$][\w$.]{2,}\{"
    rb"|[a-z]+(?:[A-Z][a-z]+)+[;,]?$|[a-z]+(?:_[a-z]+)+[;,]?$"
    rb"|(?:vault|ssm|arn|file|env|ref|secretsmanager|keyring|keychain|cmd|exec)[:+][\w./:#-]*$"
    rb"|[&*!][a-z_]\w*$|(?:\.{0,2}|~)/[\w./-]*$|[a-z]+://|--?[a-z])"
)
INTERPOLATION = rb"\$\{|\{\{"
TYPE_NAME = rb"^[A-Z][a-z]+(?:[A-Z][a-z]+)*[;,?]*$"
NUMBER = (
    rb"^(?:\d+(?:-[a-z]+)+|v?\d{1,11}(?:[.,:/-]\d{1,6})*(?:%|[a-zA-Z]{1,7})?"
    rb"|0x[0-9a-fA-F]{1,8}|[<>~^]=?\d.*)$"
)

DIGEST_CHARS = 16
DOCUMENTED = words("""
    f56e323494a6ffc2 2037abcaffb2b777 3f370c9dd8225c63 e4a5542bb7fd7b67 a19f89ab3555eac1 0b476bdf9acf2123
    eb540d2b6ee2a0a4 37f8f09bdf12c2f2 8731261cb72d8626 49f777db995e8260 27a9a42931dff7eb dc0fcf046c61640c
    4c98242dcadc8b29 ea9bb1082cf95663 3a8b61d0f636b007 a6c814bc555ae62c 2f21fd9c81678e39
""")
"""Keys that vendors print in their public documentation, by the beginning of their SHA-256."""


def is_placeholder(value: str, data: bytes) -> bool:
    """Whether a value says of itself that it is not the secret; `data` is the same value in bytes."""
    if matches(TEMPLATE_OR_MASK, data) or not any(char.isalnum() for char in value):
        return True
    # A key of a product is written like the name of a constant, with digits in most of its groups.
    if matches(CONSTANT, data) and not (
        matches(PRODUCT_KEY, data)
        and sum(not part.isalpha() for part in value.split("-")) >= PRODUCT_PARTS_MIN
    ):
        return True
    if "EXAMPLE" in value or _is_filler(data) or is_documented(value):
        return True
    words = words_of(value[:READ_CHARS_MAX])
    lower = value.lower()
    # A short one may stand in random letters by chance.
    if any(
        len(word) > SHORT_WORD_CHARS or word in PARTS.split(lower)
        for word in PLACEHOLDERS.intersection(words)
    ):
        return True
    if len(value) <= 24 and any(part in lower for part in PLACEHOLDER_PARTS):
        return True
    # `real_key` and `my-secret-token` are names of a secret. The beginning of a long value may hold no word.
    return 1 <= len(words) <= 3 and words[-1] in CREDENTIAL_NOUNS and all(word.isalpha() for word in words)


def is_masked(data: bytes) -> bool:
    """Whether somebody typed over the value or cut it short."""
    return matches(MASK, data) or _is_filler(data)


def is_documented(value: str) -> bool:
    """Whether a value is a published example, such as the keys in the manuals of AWS and Google."""
    if value.endswith("EXAMPLE"):
        return True
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:DIGEST_CHARS] in DOCUMENTED


def is_code(data: bytes) -> bool:
    """Whether an unquoted value is an expression, a path or an address rather than the value itself."""
    return matches(CODE, data)


def is_dotted(data: bytes) -> bool:
    """Whether an unquoted value may be an attribute of something."""
    return matches(DOTTED, data)


def is_interpolated(data: bytes) -> bool:
    """Whether an unquoted value has a part that is filled in later."""
    return matches(INTERPOLATION, data)


def is_type_name(data: bytes) -> bool:
    """Whether an unquoted value is a capitalised name, as after a parameter in typed code."""
    return matches(TYPE_NAME, data)


def is_plain(value: str, data: bytes) -> bool:
    """Whether a value is an everyday word, a type, a number or a version."""
    return value.lower() in PLAIN_WORDS or matches(NUMBER, data)


def is_technical(value: str) -> bool:
    """Whether digits in a value come from the name of a method, as in `SHA-256` and `base64-encoded`."""
    return not METHODS.isdisjoint(value.lower().replace("_", "-").replace(".", "-").split("-"))


def _is_filler(data: bytes) -> bool:
    """Whether more than half of a value repeats one character that masks and fillers are made of."""
    head = data[:READ_CHARS_MAX]
    runs = (len(list(group)) for byte, group in groupby(head) if byte in RUN_CHARS)
    return max(runs, default=0) * 2 > len(head)
