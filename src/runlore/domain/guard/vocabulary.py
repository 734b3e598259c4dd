"""The words the guard knows: names of credentials, of services, and of what is no secret.

Only data. How names are judged is in `names.py`, how values are in `placeholders.py`.
"""


def words_in(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


PASSWORDS = words_in("""
    password passwd passwrd passphrase passcode pwd pass pw passw mypwd psk
    passe passwort kennwort contraseña contrasena senha wachtwoord hasło haslo heslo salasana
    lösenord losenord adgangskode passord parola parole jelszó şifre пароль
    密码 密碼 口令 パスワード 비밀번호
""")
SECRETS = words_in("secret secrets secrete credential credentials cred creds salt seed")
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
