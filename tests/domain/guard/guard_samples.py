"""Made-up secrets for the tests of the guard, drawn when they are asked for.

Nothing that looks like a live credential stands in this file: a sample is a form such as
`ghp_{alnum:36}`, and the random part is filled in at run time, always in the same way.
"""

import random
import re
import string

ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "digit": string.digits,
    "word": string.ascii_letters + string.digits + "_",
    "letter": string.ascii_letters,
    "base32": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
}
UUID = "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"
FIELD = re.compile(r"\{(\w+):(\d+)\}")

SHAPES: tuple[tuple[str, str], ...] = (
    ("1password-key", "A3-{upper:6}-{upper:6}-{upper:5}-{upper:5}-{upper:5}-{upper:5}"),
    ("1password-key", "ops_eyJ{alnum:260}"),
    ("adobe-secret", "p8e-{lower:32}"),
    ("age-key", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE"),
    ("airtable-token", "pat{alnum:14}.{hex:64}"),
    ("alibaba-key", "LTAI{alnum:20}"),
    ("anthropic-key", "sk-ant-api03-{word:93}AA"),
    ("artifactory-key", "AKCp{alnum:69}"),
    ("artifactory-key", "AP6{alnum:20}"),
    ("atlassian-token", "ATATT3{word:186}"),
    ("authress-key", "sc_{lower:10}.{lower:4}.acc_{lower:10}.{lower:40}"),
    ("aws-access-key", "AKIA{base32:16}"),
    ("aws-bedrock-key", "ABSKQ{alnum:120}"),
    ("azure-secret", "{alnum:3}8Q~{alnum:34}"),
    ("bitbucket-token", "ATBB{alnum:32}"),
    ("buildkite-token", "bkua_{hex:40}"),
    ("cargo-token", "cio{alnum:32}"),
    ("circleci-token", "CCIPAT_{alnum:45}"),
    ("clickhouse-key", "4b1d{alnum:38}"),
    ("clojars-token", "CLOJARS_{hex:60}"),
    ("cloudflare-key", "v1.0-{hex:24}-{hex:146}"),
    ("contentful-token", "CFPAT-{word:43}"),
    ("databricks-token", "dapi{hex:32}"),
    ("defined-networking-key", "dnkey-{word:26}-{word:52}"),
    ("digitalocean-token", "dop_v1_{hex:64}"),
    ("discord-token", "M{alnum:23}.{alnum:6}.{alnum:27}"),
    ("discord-webhook", "/api/webhooks/{digit:18}/{word:68}"),
    ("docker-token", "dckr_pat_{word:27}"),
    ("doppler-token", "dp.pt.{alnum:43}"),
    ("dropbox-token", "sl.{alnum:135}"),
    ("duffel-token", "duffel_live_{word:43}"),
    ("dynatrace-token", "dt0c01.{upper:24}.{upper:64}"),
    ("easypost-key", "EZAK{alnum:54}"),
    ("facebook-token", "EAAM{alnum:120}"),
    ("figma-token", "figd_{word:43}"),
    ("flutterwave-key", "FLWSECK_TEST-{hex:32}-X"),
    ("fly-token", "fo1_{word:43}"),
    ("frameio-token", "fio-u-{word:64}"),
    ("github-token", "ghp_{alnum:36}"),
    ("github-token", "github_pat_{alnum:22}_{alnum:59}"),
    ("gitlab-token", "glpat-{word:20}"),
    ("gitlab-token", "glrt-t3_{word:27}.01.{lower:9}"),
    ("gocardless-token", "live_{word:40}"),
    ("google-api-key", "AIza{word:35}"),
    ("google-oauth", "GOCSPX-{alnum:28}"),
    ("grafana-token", "glsa_{alnum:32}_{hex:8}"),
    ("groq-key", "gsk_{alnum:52}"),
    ("harness-key", "pat.{alnum:22}.{hex:24}.{alnum:20}"),
    ("hashicorp-token", "hvs.{word:90}"),
    ("hashicorp-token", "{alnum:14}.atlasv1.{word:67}"),
    ("heroku-key", "HRKU-AA{alnum:58}"),
    ("huggingface-token", "hf_{letter:34}"),
    ("infracost-key", "ico-{alnum:32}"),
    ("intra42-secret", "s-s4t2ud-{hex:64}"),
    ("jwt", "ZXlK{alnum:80}"),
    ("langfuse-key", f"sk-lf-{UUID}"),
    ("langsmith-key", "lsv2_pt_{hex:32}_{hex:10}"),
    ("launchdarkly-key", f"sdk-{UUID}"),
    ("linear-key", "lin_api_{alnum:40}"),
    ("lob-key", "live_{hex:35}"),
    ("mailchimp-key", "{hex:32}-us12"),
    ("mailgun-key", "key-{hex:32}"),
    ("mapbox-token", "pk.{lower:60}.{lower:22}"),
    ("maxmind-key", "{alnum:6}_{alnum:29}_mmk"),
    ("netlify-token", "nfp_{alnum:36}"),
    ("newrelic-key", "NRAK-{upper:27}"),
    ("notion-token", "ntn_{digit:11}{alnum:35}"),
    ("npm-token", "npm_{alnum:36}"),
    ("nuget-key", "oy2{lower:43}"),
    ("nvidia-key", "nvapi-{word:64}"),
    ("octopus-key", "API-{upper:26}"),
    ("openai-key", "sk-proj-{alnum:40}T3BlbkFJ{alnum:40}"),
    ("openrouter-key", "sk-or-v1-{hex:64}"),
    ("openshift-token", "sha256~{word:43}"),
    ("perplexity-key", "pplx-{alnum:48}"),
    ("pinecone-key", "pcsk_{alnum:60}"),
    ("plaid-token", f"access-sandbox-{UUID}"),
    ("planetscale-token", "pscale_tkn_{alnum:43}"),
    ("postman-key", "PMAK-{hex:24}-{hex:34}"),
    ("prefect-key", "pnu_{alnum:36}"),
    ("pulumi-token", "pul-{hex:40}"),
    ("pypi-token", "pypi-AgEI{alnum:150}"),
    ("readme-key", "rdme_{lower:70}"),
    ("render-key", "rnd_{alnum:32}"),
    ("replicate-token", "r8_{alnum:37}"),
    ("rubygems-key", "rubygems_{hex:48}"),
    ("scalingo-token", "tk-us-{word:48}"),
    ("secret-key", "sk-{alnum:48}"),
    ("sendgrid-key", "SG.{alnum:22}.{alnum:43}"),
    ("sendinblue-key", "xkeysib-{hex:64}-{alnum:16}"),
    ("sentry-token", "sntryu_{hex:64}"),
    ("settlemint-token", "sm_pat_{alnum:16}"),
    ("shippo-token", "shippo_live_{hex:40}"),
    ("shopify-token", "shpat_{hex:32}"),
    ("sidekiq-secret", "BUNDLE_GEMS__CONTRIBSYS__COM={hex:8}:{hex:8}"),
    ("slack-token", "xoxb-{digit:12}-{digit:12}-{alnum:24}"),
    ("slack-token", "xoxp-{digit:12}-{digit:12}-{digit:12}-{hex:32}"),
    ("slack-webhook", "hooks.slack.com/services/T{upper:8}/B{upper:10}/{alnum:24}"),
    ("softlayer-key", "api.softlayer.com/soap/v3/{lower:64}"),
    ("sonar-token", "squ_{hex:40}"),
    ("sourcegraph-token", "sgp_{hex:40}"),
    ("square-token", "sq0atp-{word:22}"),
    ("stripe-key", "sk_live_{alnum:24}"),
    ("sumologic-key", "sumologic_access_id = su{alnum:12}"),
    ("supabase-key", "sbp_{hex:40}"),
    ("tailscale-key", "tskey-auth-{alnum:12}-{alnum:24}"),
    ("tavily-key", "tvly-{alnum:32}"),
    ("teams-webhook", f"webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{{hex:32}}/{UUID}"),
    ("telegram-token", "{digit:9}:AA{alnum:33}"),
    ("twilio-key", "SK{hex:32}"),
    ("twitter-token", "A" * 22 + "{alnum:90}"),
    ("typeform-token", "tfp_{alnum:59}"),
    ("xai-key", "xai-{alnum:80}"),
    ("yandex-key", "AQVN{alnum:35}"),
)
"""At least one form for every rule of the table of shapes."""


def drawn(form: str, seed: int = 1) -> str:
    """A form with its random parts filled in."""
    rng = random.Random(f"{form} {seed}")
    return FIELD.sub(lambda field: "".join(rng.choices(ALPHABETS[field[1]], k=int(field[2]))), form)


def github_token(seed: int = 1) -> str:
    return drawn("ghp_{alnum:36}", seed)


WEAK = "hunt" + "er2"
"""A password that nobody would draw at random."""
RANDOM = drawn("{lower:24}")
