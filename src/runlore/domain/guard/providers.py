r"""The table of token shapes: what the providers document or issue, a row for each form.

A row is a rule, a pattern, and what else holds: `@a,b` its anchors where the pattern does not begin with
them, `<N` how many characters of it may stand in front of the anchor, what its body has to look like
(VARIED where nothing is said), and `free` for a prefix so short that it turns up in any encoded data. A
group in a pattern is the token; what stands in front of it leads to it. An indented line goes on with a row.
"""

import re
from itertools import product

from runlore.domain.guard.shapes import END, Body, TokenShape

UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
ANCHORED = r"""
aws-access-key (?:A3T|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,17} unmasked
aws-bedrock-key ABSKQ[A-Za-z0-9+/]{105,265}={0,2} unmasked
aws-bedrock-key bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[\w%=-]* any
aws-session-token (?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9+/%]{80,}={0,2}
aws-service-key da2-[a-z0-9]{26} random
aws-service-key amzn\.mws\.UUID
aws-service-key amzn1\.oa2-cs\.v1\.[a-f0-9]{64}
alibaba-key LTAI[A-Za-z0-9]{12,26} random
tencent-key AKID[A-Za-z0-9]{32} random
volcengine-key AKLT[\w-]{40,60} random
baidu-key bce-v3/[\w-]{20,60}/[a-f0-9]{40}
azure-secret @q~ [\w~.]{3}\dQ~[\w~.-]{31,34} <4 random
azure-key [A-Za-z0-9+/_-]{24,90}(?:\+ASt|ACDb|AzFu|AzSe|AzCa|\+ACR|\+ABa|\+AMC|\+ASb|\+AEh|\+ARm|AIoT|JQQJ99
    |AZDO)[A-Za-z0-9+/_-]{4,32}={0,2} <90 strong @+ast,acdb,azfu,azse,azca,+acr,+aba,+amc,+asb,+aeh,+arm,aiot
    ,jqqj99,azdo
cloudflare-key v1\.0-[a-f0-9]{24}-[a-f0-9]{146}
digitalocean-token (?i:do[opr]_v1_[a-f0-9]{64})
doppler-token dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{40,44}
fly-token fo1_[\w-]{43}
fly-token (?:fm1a_|fm1r_|fm2_)[A-Za-z0-9+/]{100,}={0,3}
google-api-key AIza[\w-]{35} random
google-api-key AQ\.Ab[\w-]{40,60} random
google-oauth ya29\.[\w-]{20,1000} random
google-oauth GOCSPX-[\w-]{28} random
google-oauth 1//0[\w-]{40,120} random
google-storage-key GOOG[A-Z0-9]{17,70} random
hashicorp-token @.atlasv1. [A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70} <14
hashicorp-token hv[sbr]\.[\w-]{24,400} random
hashicorp-token s\.[A-Za-z0-9]{24} random free
openshift-token sha256~[\w-]{43} random
planetscale-token pscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}
pulumi-token pul-[a-f0-9]{40}
render-key rnd_[A-Za-z0-9]{28,40} random
scaleway-key SCW[A-Z0-9]{17} random
supabase-key (?:sbp_|sb_secret_)[\w-]{31,48} random
aiven-password AVNS_[\w-]{12,32} random
swarm-token SWMTKN-1-[a-z0-9]{40,60}-[a-z0-9]{20,30}
swarm-token SWMKEY-1-[A-Za-z0-9+/]{40,50}
k3s-token K10[0-9a-f]{64}::[\w:.-]{8,80}
tailscale-key tskey-[a-z]{3,12}-[\w-]{20,80} random
vercel-token (?:vcp|vci|vca|vcr|vck)_[A-Za-z0-9]{24,60} random
yandex-key t1\.[\w-]+={0,2}\.[\w-]{86}={0,2} random
yandex-key AQVN[\w-]{35,38} random
yandex-key YC[\w-]{38} random
yandex-key y0_[\w-]{50,60} random
artifactory-key cmVmd[A-Za-z0-9]{59}
artifactory-key @akc,ap0,ap1,ap2,ap3,ap4,ap5,ap6,ap7,ap8,ap9,apa,apb,apc,apd,ape,apf (?:AKC
    |AP[0-9A-F])x{10,90} any
artifactory-key @akc,ap0,ap1,ap2,ap3,ap4,ap5,ap6,ap7,ap8,ap9,apa,apb,apc,apd,ape,apf (?:AKC
    |AP[0-9A-F])[A-Za-z0-9]{8,90} random free
bitbucket-token ATBB[A-Za-z0-9]{32}
bitbucket-token BBDC-[\w+/@-]{40,50} random
buildkite-token bk(?:ua|aj|ct|pat)_[a-zA-Z0-9]{36,64} random
cargo-token cio[A-Za-z0-9]{32} random
clojars-token (?i:CLOJARS_[a-z0-9]{60})
docker-token dckr_[po]at_[\w-]{27,40}
github-token gh[pousr]_[A-Za-z0-9]{36,255}
github-token github_pat_[A-Za-z0-9_]{60,255}
gitlab-token gl(?:pat|dt|ft|ffct|rt|rtr|soat|cbt|imt|agent|oas|ptt|wt)-[\w-]{20,1000}
    (?:\.[0-9a-z]{2,3}\.?[0-9a-z]{6,12})?
gitlab-token GR1348941[\w-]{20,50}
npm-token npm_[A-Za-z0-9]{36}
nuget-key oy2[a-z0-9]{43}
packagist-token packagist_[a-z]{3}_[a-f0-9]{40,80}
pypi-token pypi-AgE[\w-]{85,1000}
rubygems-key rubygems_[a-f0-9]{48}
sonar-token sq[upab]_[a-f0-9]{40}
sourcegraph-token sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}
atlassian-token AT(?:AT|CT)T3[\w=-]{100,250}
trello-token ATTA[a-f0-9]{56,80}
infracost-key ico-[A-Za-z0-9]{32} random
jetbrains-token perm[:-][\w=+/]{8,80}\.[\w=+/]{4,40}\.[\w=+/]{20,80} random
launchdarkly-key (?:sdk|api|mob)-UUID
notion-token secret_[A-Za-z0-9]{43} random
postman-key PMA[KT]-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}
prefect-key pn[ubt]_[A-Za-z0-9]{36}
readme-key rdme_[a-z0-9]{70}
hubspot-token pat-(?:na|eu|ap)\d-UUID
salesforce-token 00D[A-Za-z0-9]{12,15}![\w.]{80,130}
anthropic-key sk-ant-[\w-]{24,140} strong
cerebras-key csk-[a-z0-9]{40,56} random
firecrawl-key fc-[a-f0-9]{32}
huggingface-token (?:hf_|api_org_)[A-Za-z0-9]{34,40} random
langsmith-key lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}
llamaindex-key llx-[A-Za-z0-9]{40,60} random
openai-key @t3blbkfj sk-[\w-]{16,}T3BlbkFJ[\w-]{16,} <170
langfuse-key sk-lf-UUID
secret-key sk-[\w-]{20,300} strong
replicate-token r8_[A-Za-z0-9]{37} random
runpod-key rpa_[A-Za-z0-9]{36,50} random
mailgun-key (?:key|pubkey)-[a-f0-9]{32}
mandrill-key md-[\w-]{22} strong
onesignal-key os_v2_(?:app|org)_[a-z0-9]{60,120}
resend-key re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,32} random
sendgrid-key SG\.[\w=.-]{66} random
slack-token xoxb-\d{8,14}-[A-Za-z0-9-]{18,60}
slack-token xox[peso]-\d{6,14}-\d{6,14}-\d{6,14}-[A-Za-z0-9-]{10,64}
slack-token xox[ar]-(?:\d-)?(?:\d{6,14}-){1,3}[a-zA-Z0-9]{10,64} any
slack-token xox[ar]-(?:\d-)?[A-Za-z0-9]{8,64} random
slack-token xox[cd]-[\w%-]{20,300} random
slack-token xoxe[.-](?:xox[bp]-)?\d-[A-Za-z0-9]{100,200}
slack-token (?i:xapp-\d-[A-Z0-9]{6,16}-\d{6,16}-[a-z0-9]{20,80})
asana-token [012]/\d{16}:[a-f0-9]{32}
asana-token [012]/\d{16}/\d{16}:[a-f0-9]{32}
convex-key (?:prod|preview|dev):[a-z]{2,16}-[a-z]{2,16}-\d{1,4}\|[A-Za-z0-9+/=]{40,200}
dub-key dub_[A-Za-z0-9]{24} random
unkey-key unkey_[A-Za-z0-9]{20,40} random
okta-token SSWS\s(00[\w-]{40})
sanity-token sk[A-Za-z0-9]{78} random free
zapier-webhook hooks\.zapier\.com/hooks/catch/\d{4,10}/[a-z0-9]{6,10} any
mailersend-token mlsn\.[a-f0-9]{64}
beamer-key b_[a-z0-9]{44} random free
filezilla-password @<pass (?:<)Pass(?:\sencoding="base64")?>([A-Za-z0-9+/=]{8,64})
database-password mysqli(?:_connect)?\(\s?["'][^"'\n]{0,80}["'],\s?["'][^"'\n]{0,40}["'],\s?["']
    ([^"'\s]{6,64})
database-password PDO\(\s?["'][^"'\n]{0,120}["'],\s?["'][^"'\n]{0,40}["'],\s?["']([^"'\s]{6,64})
lark-webhook open\.(?:larksuite|feishu)\.(?:com|cn)/open-apis/bot/v2/hook/UUID
opsgenie-key GenieKey\s(UUID)
firebase-key @:apa91b [\w-]{7,22}:APA91b[\w-]{100,180} <22
slack-webhook hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,80} any
discord-webhook /api/webhooks/\d{17,20}/[\w-]{60,80}
teams-webhook webhook\.office\.com/webhookb2/[\w@-]{60,80}/IncomingWebhook/[\w/-]{60,80}
google-webhook chat\.googleapis\.com/v1/spaces/[\w-]{4,20}/messages\?key=[\w&=%-]{40,200}
telegram-token @:aa \d{8,10}:AA[\w-]{32,33} <10 random
telegram-token api\.telegram\.org/bot\d{5,16}:[\w-]{34,36}
telegram-token @telegr (?i:telegr)[^\n]{0,40}?(\d{5,16}:A[\w-]{34})
typeform-token tfp_[\w.=-]{50,64} random
duffel-token duffel_(?:test|live)_[\w=-]{43}
braintree-token access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}
clickup-token pk_\d{6,10}_[A-Z0-9]{32}
klaviyo-key pk_[a-f0-9]{34}
easypost-key EZ[AT]K[A-Za-z0-9]{54}
facebook-token EAA[A-Z][A-Za-z0-9]{80,400}
flutterwave-key FLW(?:SECK|PUBK)(?:_TEST)?-[a-h0-9]{12,40}(?:-X)?
gocardless-token (?:live|sandbox)_[\w=-]{40} random
lob-key (?:live|test)_(?:pub_[a-f0-9]{31}|[a-f0-9]{35})
mollie-key (?:live|test)_[A-Za-z0-9]{30,34} random
plaid-token access-(?:sandbox|development|production)-UUID
shippo-token shippo_(?:live|test)_[a-fA-F0-9]{40}
shopify-token shp(?:at|ca|pa|ss|ua|tka)_[a-fA-F0-9]{32}
square-token sq0[a-z]{3}-[\w\\-]{22,60}
square-token EAAA[\w-]{22,60} random
stripe-key [sr]k_(?:test|live|prod)_[A-Za-z0-9]{10,250}
stripe-key whsec_[A-Za-z0-9+/=]{24,80} random
1password-key A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}
1password-key ops_eyJ[A-Za-z0-9+/]{200,}={0,3}
adobe-secret p8e-(?i:[a-z0-9]{32})
age-key (?i:AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}) any
authress-key @.acc_,.acc- (?:sc|ext|scauth
    |authress)_(?i:[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120}) <48
bitcoin-key xprv[1-9A-HJ-NP-Za-km-z]{100,112}
clickhouse-key 4b1d[A-Za-z0-9]{38}
contentful-token CFPAT-[\w-]{43}
datastax-token AstraCS:[A-Za-z0-9]{20,30}:[a-f0-9]{64}
databricks-token (?:dapi|dkea|dose)[a-f0-9]{32}(?:-\d)?
defined-networking-key dnkey-[\w=-]{26}-[\w=-]{52}
dropbox-token sl\.[\w=.-]{130,} random
dynatrace-token dt0[a-z]\d\d\.(?i:[A-Z0-9]{24}\.[A-Z0-9]{64})
facebook-token @facebook (?i:facebook)[^\n]{0,48}?(\d{15,16}[|%][\w-]{27,40})
frameio-token fio-u-[\w=-]{64}
grafana-token glc_[A-Za-z0-9+/]{32,400}={0,3} random
grafana-token eyJrIjoi[A-Za-z0-9]{70,400}={0,3}
harness-key (?:pat|sat)\.[\w-]{22}\.[0-9a-zA-Z]{24}\.[A-Za-z0-9]{20}
honeycomb-key hc[abx][il]k_[a-z0-9]{50,70}
inngest-key signkey-[a-z]{3,10}-[a-f0-9]{32,64}
maxmind-key @_mmk [A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk <36
mapbox-token [pst]k\.(?:eyJ1[\w-]{20,400}|[a-z0-9]{60})\.[\w-]{22}
newrelic-key NR(?:AK|JS|II|IQ|AA|RA|BR|SP)-[A-Za-z0-9-]{18,44} random
newrelic-key @nral [a-f0-9]{36}(?:FFFF)?NRAL <40
rapidapi-key @msh [a-z0-9]{10}msh[a-z0-9]{15}p1[a-z0-9]{5}jsn[a-z0-9]{12} <10
sentry-token sntrys_eyJ[A-Za-z0-9+/=]{40,400}_[A-Za-z0-9+/]{43}
sentry-token sntryu_[a-f0-9]{64}
settlemint-token sm_[aps]at_[A-Za-z0-9]{16}
sidekiq-secret @contribsys__com (?i:contribsys__com)\w*[^\w\n]{1,12}([a-f0-9]{8}:[a-f0-9]{8}) any
softlayer-key @api.softlayer.com/soap/ (?i:api\.softlayer\.com/soap/)[\w.]{1,8}/([a-z0-9]{64})
intra42-secret s-s4t2(?:ud|af)-[a-f0-9]{64}
jwt ZXlK[A-Za-z0-9+/_=-]{60,} random
sumologic-key @sumo (?:[Ss]umo|SUMO)[\w.-]{0,24}["']?[\x20\t]{0,4}[:=]{1,2}[\x20\t]{0,4}["'`]?(su
    [A-Za-z0-9]{12})
telnyx-key KEY[0-9A-F]{32}_[\w]{22}
twitter-token @aaaaaaaaaaaaaaaaaaaaaa A{22}[A-Za-z0-9%]{80,100} any
vk-token vk1\.a\.[\w-]{60,240} random
adyen-key AQE[a-z]h[A-Za-z0-9+/=-]{60,200} random
alchemy-token alcht_[A-Za-z0-9]{30}
axiom-token xa[ap]t-UUID
cal-key cal_(?:live_)?[A-Za-z0-9]{32} random
canva-secret cnvca[\w-]{51} random
checkly-key cu_[a-f0-9]{32}
chromatic-token chpt_[a-f0-9]{12,40}
close-key api_[A-Za-z0-9]{18,26}\.[A-Za-z0-9]{18,26} random
cockroach-key CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}
cursor-key crsr_[a-f0-9]{64}
cursor-key @cursor (?i:cursor)[^\n]{0,48}?(key_[a-f0-9]{64})
deepl-key @deepl (?i:deepl)[^\n]{0,48}?(UUID:fx)
deno-token dd[po]_[A-Za-z0-9]{36}
depot-token depot_(?:org|project)_[a-f0-9]{64}
devcycle-key dvc_(?:server|client|mobile)_[\w-]{20,80} random
e2b-key e2b_[a-f0-9]{40}
fireworks-key fw_[A-Za-z0-9]{22,24} strong
honeybadger-token hbp_[A-Za-z0-9]{36}
infisical-token st\.(?:UUID|[a-f0-9]{24})\.[a-f0-9]{32}\.[a-f0-9]{32}
lichess-token lip_[A-Za-z0-9]{20} random
mem0-key m0-[A-Za-z0-9]{40} random
midtrans-key Mid-server-[\w-]{20,40} random
modal-token a[ks]-[A-Za-z0-9]{22} strong
neon-key napi_[a-z0-9]{60,70}
onfido-token api_(?:live|sandbox)(?:_[a-z]{2})?\.[\w-]{11}\.[\w-]{32}
ory-token ory_(?:pat|at|rt|st|apikey)_[\w.-]{30,120} random
pangea-token pt[stk]_[a-z0-9]{32} random
percy-token @percy (?i:percy)[^\n]{0,48}?((?:web|app|auto)_[a-f0-9]{64})
persona-key persona_(?:production|sandbox)_UUID
polar-token polar_(?:pat|oat|at_[uo]|rt_[uo]|whs)_[A-Za-z0-9]{32,60}
pubnub-key sec-c-[\w-]{36,48} random
quicknode-key QN_[a-f0-9]{32}
razorpay-key rzp_live_[A-Za-z0-9]{14} random
rootly-token rootly_[a-f0-9]{64}
snyk-token snyk_[us]at\.[a-f0-9]{8}\.[\w.-]{40,200}
sourcegraph-token slk_[a-f0-9]{64}
tinybird-token p\.eyJ[\w.-]{60,400}
trigger-key tr_(?:dev|prod|stg|pat|preview)_[A-Za-z0-9]{20,40} random
valtown-token vtwn_[A-Za-z0-9]{20,40} random
wakatime-key waka_UUID
xendit-key xnd_(?:production|development)_[A-Za-z0-9]{30,80}
woocommerce-key c[ks]_[a-f0-9]{40}
zuplo-key zpka_[a-z0-9]{30,40}_[a-f0-9]{8}
appwrite-key standard_[a-f0-9]{200,400}
biscuit-key ed25519-private/[a-f0-9]{64}
amazon-token Atzr\|[\w-]{80,1000} random
chain-key @.infura.io/,.quiknode.pro/,.alchemy.com/ \.(?:infura\.io/v3|quiknode\.pro
    |alchemy\.com/v2)/([\w-]{32,44})
elastic-key essu_[A-Za-z0-9+/]{60,120}={0,2} random
flagsmith-key ser\.[A-Za-z0-9]{22} random free
ifttt-key maker\.ifttt\.com/trigger/[\w/-]{1,80}/with/key/([\w-]{20,60})
instagram-token IGQV[A-Za-z0-9_-]{80,300} random
macaroon MDAxY2xvY2F0aW9u[A-Za-z0-9+/=_-]{60,1000} random
nostr-key nsec1[02-9ac-hj-np-z]{58} random
pagerduty-key @pagerduty (?i:pagerduty)[^\n]{0,48}?(R0[A-Z0-9]{30})
porkbun-key [sp]k1_[a-f0-9]{64}
retool-token retool_01[a-z0-9]{20,40} random
roblox-cookie -and-to-steal-your-ROBUX-and-items\.\|_([A-F0-9]{100,1000}) any
conda-token conda\.anaconda\.org/t/([\w-]{20,60})
confluent-key cflt[A-Za-z0-9+/]{60} random
courier-key pk_(?:prod|test)_[A-Z0-9]{28} random
ebay-key (?:PRD|SBX)-[a-f0-9]{12}(?:-[a-f0-9]{4}){4}
paseto @k1.,k2.,k3.,k4. k[1-4]\.(?:local|secret)\.[\w-]{40,400} random
pushbullet-token o\.[A-Za-z0-9]{32} random free
riot-key RGAPI-UUID
tiktok-token act\.[A-Za-z0-9]{40,90}![\w.]{1,8} random
toggl-token @:api_token [a-f0-9]{32}:api_token <32
tor-key HidServAuth\s\S{10,80}\s([A-Za-z0-9+/]{22})
twitch-token oauth:[a-z0-9]{30} random
unleash-key @:production.,:development.,:default. (?:\*|[\w-]{1,20}):[\w-]{1,20}\.[a-f0-9]{48,64} <22
upcloud-token ucat_[A-Z0-9]{26} random
zerotier-key @:0: [a-f0-9]{10}:0:[a-f0-9]{128}:[a-f0-9]{128} <10
password-hash \$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|[156y]\$(?:rounds=\d+\$)?
    [\w./$-]{1,32}\$[./A-Za-z0-9]{20,90}|apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}|argon2(?:id?
    |d)\$v=\d+\$[\w=,]+\$[\w+/]{8,}\$[\w+/]{16,}) @$2a$,$2b$,$2x$,$2y$,$1$,$5$,$6$,$y$,$apr1$,$argon2 any
password-hash (?:e1NTSEF|e1NIQX0|e0NSWVBUf)[A-Za-z0-9+/=]{24,160} random
password-hash \$9\$[A-Za-z0-9./-]{10,90} random
password-hash @:[u [0-9A-FX]{32}:[0-9A-F]{32}:\[U <66 any
password-hash \{S?SHA(?:256|512)?\}[A-Za-z0-9+/]{24,120}={0,2} @{sha,{ssha
password-hash (?:pbkdf2[_:]sha(?:1|256|512)|pbkdf2-sha(?:256|512)|scrypt)[$:][\w.:]+\$
    [\w+/.=-]{8,64}\$[\w+/.=-]{24,140} @pbkdf2,scrypt any
otp-seed @otpauth:// otpauth://[^\s"'<>]{0,200}?[?&]secret=([A-Za-z2-7=]{8,128}) any
"""

OPAQUE = r"""
nats-seed S[UOACNX][A-Z2-7]{56} random
airtable-token pat[A-Za-z0-9]{14}\.[a-f0-9]{64}
discord-token [MNO][\w-]{23,25}\.[\w-]{6}\.(?:[\w-]{27}|[\w-]{38}) random
mailchimp-key [0-9a-f]{32}-us\d{1,2}
bitwarden-token 0\.UUID\.[A-Za-z0-9]{30}
bitlocker-key (?:\d{6}-){7}\d{6} any
twilio-key (?:SK|AC)(?:[0-9a-f]{32}|[0-9A-F]{32}|x{32}) any
"""


def _read_rows(table: str, *, anchored: bool) -> tuple[TokenShape, ...]:
    return tuple(
        _read_row(*row.split(), anchored=anchored) for row in table.replace("\n    ", "").split("\n")[1:-1]
    )


def _read_row(rule: str, *columns: str, anchored: bool) -> TokenShape:
    words = {
        word for word in columns if word.upper() in Body.__members__ or word == "free" or word[0] in "@<"
    }
    (pattern,) = (column.replace("UUID", UUID) for column in columns if column not in words)
    given = next((word[1:].split(",") for word in words if word[0] == "@"), None)
    capturing = re.search(r"(?<!\\)\((?!\?)", pattern)
    return TokenShape(
        rule=rule,
        anchors=tuple(given or sorted(_literal_heads(pattern))) if anchored else (),
        pattern=(pattern if capturing else f"({pattern})").encode() + END,
        body=next((Body[word.upper()] for word in words if word.upper() in Body.__members__), Body.VARIED),
        before=next((int(word[1:]) for word in words if word[0] == "<"), 0),
        has_lead=capturing is not None,
        stands_free="free" in words,
    )


def _literal_heads(pattern: str) -> set[str]:
    """What a pattern begins with, in lower case: literals, choices of literals and small sets of them."""
    parts: list[list[str]] = []
    piece = re.compile(r"(?:\(\?:([\w|.-]+)\)|\[([A-Za-z0-9]+)\]|\\([.$])|([\w~/:-]))(?![{*+?])")
    at = len("(?i:") if pattern.startswith("(?i:") else 0
    while match := piece.match(pattern, at):
        choices, letters, escaped, plain = match.groups()
        parts.append(choices.split("|") if choices else list(letters or escaped or plain))
        at = match.end()
    return {"".join(choice).lower() for choice in product(*parts)} - {""}


SHAPES = _read_rows(ANCHORED, anchored=True)
"""Every shape with a literal anchor."""
OPAQUE_SHAPES = _read_rows(OPAQUE, anchored=False)
"""Shapes without an anchor, tried where a long run of token characters stands."""
