"""Shell commands that bring something from outside, with the subcommands that do, and why."""

from collections.abc import Mapping, Sequence

from runlore.domain.lazy import dataclass
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind, words


@dataclass(frozen=True, kw_only=True)
class ProgramRow:
    """Programs, and the first words behind them that count; `unless` are those that do not.

    Without either, the program always counts. An address elsewhere counts even where no
    word of `when` stands. `quiet_at_home`: a call of this machine alone does not.
    """

    programs: tuple[str, ...]
    outside: Outside
    when: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    quiet_at_home: bool = False


def _row(
    programs: str,
    why: str,
    *,
    kind: OutsideKind,
    brings: Brings = Brings.TEXT,
    when: str = "",
    unless: str = "",
    quiet_at_home: bool = False,
) -> ProgramRow:
    return ProgramRow(
        programs=tuple(programs.split()),
        outside=Outside(kind=kind, brings=brings, why=why),
        when=words(when),
        unless=words(unless),
        quiet_at_home=quiet_at_home,
    )


_PAGE = "prints what an address answers, whoever wrote it"
_FILES = "brings files that others wrote; their words are read later"
_PACKAGES = "installs code that others wrote, and prints what it says"
_SERVICE = "prints what a service answers, others' words among it"

PROGRAMS: Sequence[ProgramRow] = (
    _row(
        "curl wget wget2 http https httpie xh xhs curlie hurl aria2c axel fetch grpcurl websocat wscat"
        " invoke-webrequest invoke-restmethod iwr irm",
        _PAGE,
        kind=OutsideKind.WEB_PAGE,
        quiet_at_home=True,
    ),
    _row("lynx w3m links links2 elinks browsh trafilatura", _PAGE, kind=OutsideKind.WEB_PAGE),
    _row(
        "yt-dlp youtube-dl gallery-dl ddgr googler howdoi",
        _PAGE,
        kind=OutsideKind.WEB_PAGE,
    ),
    _row(
        "git",
        _FILES,
        kind=OutsideKind.DOWNLOAD,
        brings=Brings.CODE,
        when="clone fetch pull submodule ls-remote lfs fetch-pack svn",
    ),
    _row(
        "svn hg bzr fossil",
        _FILES,
        kind=OutsideKind.DOWNLOAD,
        brings=Brings.CODE,
        when="checkout co clone update up export pull incoming git sync fetch switch init",
    ),
    _row(
        "pip uv-pip pip-sync conda mamba micromamba easy_install pdm poetry pipenv hatch rye",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        when="install download wheel index search add update upgrade sync lock create env inject reinstall",
    ),
    _row(
        "uv",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        when="add sync lock tool pip python x self",
    ),
    _row(
        "pipx",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        unless="list environment ensurepath completions uninstall uninstall-all pin unpin --version --help",
    ),
    _row("uvx npx bunx pnpx dlx", _PACKAGES, kind=OutsideKind.PACKAGE, brings=Brings.CODE),
    _row(
        "npm yarn pnpm bun deno jsr volta corepack",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        when="install i ci add update up upgrade exec x dlx create init view info show search outdated audit"
        " install-test it prepare import global use",
    ),
    _row(
        "cargo rustup",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        when="install add update fetch search info binstall vendor audit toolchain component target",
    ),
    _row(
        "gem bundle bundler",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        when="install update fetch search add i outdated info",
    ),
    _row(
        "go",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        when="get install mod work",
    ),
    _row(
        "apt apt-get aptitude dnf yum zypper apk brew port snap flatpak nix nix-env nix-channel winget choco"
        " scoop opkg xbps-install emerge pkg pkgin guix",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        unless="list --version remove uninstall purge autoremove clean leaves services --prefix --cellar"
        " config doctor",
    ),
    _row(
        "dpkg rpm",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        unless="--version -l -q -qa -L -s -S -qi -ql --list --listfiles --status --search --remove --purge -r"
        " -P -e",
    ),
    _row("pacman yay paru", _PACKAGES, kind=OutsideKind.PACKAGE, brings=Brings.CODE),
    _row(
        "composer dotnet nuget cpan cpanm luarocks opam cabal stack mix rebar3 pod carthage swift vcpkg conan"
        " ansible-galaxy helm terraform tofu asdf mise sdk nvm fnm pyenv rbenv gradle-get jspm bower",
        _PACKAGES,
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
        when="install require update upgrade add restore get deps.get package init pull repo search fetch"
        " use download plugin",
    ),
    _row(
        "docker podman nerdctl skopeo crane oras buildah",
        "brings an image that others made",
        kind=OutsideKind.DOWNLOAD,
        brings=Brings.CODE,
        when="pull search copy cp-image inspect-remote load import",
    ),
    _row(
        "gh glab hub tea jira acli",
        "prints issues, reviews and files that others wrote",
        kind=OutsideKind.REMOTE,
        unless="auth config alias completion version --version help",
    ),
    _row(
        "ssh scp sftp mosh telnet rsh rlogin ftp lftp tftp rclone autossh",
        "prints or copies what another machine has",
        kind=OutsideKind.REMOTE,
    ),
    _row(
        "nc ncat netcat socat nmap",
        "prints what another machine answers",
        kind=OutsideKind.REMOTE,
    ),
    _row(
        "aws gcloud gsutil az doctl heroku flyctl fly vercel netlify wrangler oci ibmcloud linode-cli s3cmd"
        " s5cmd bq mc stripe twilio supabase firebase sentry-cli datadog newrelic pulumi eksctl",
        _SERVICE,
        kind=OutsideKind.REMOTE,
        unless="--version version help",
    ),
    _row(
        "kubectl oc k9s stern kubetail",
        "prints what runs elsewhere, others' words among it",
        kind=OutsideKind.REMOTE,
        when="logs exec cp attach debug port-forward proxy describe events",
    ),
    _row("dig nslookup host whois drill kdig", "prints what others registered", kind=OutsideKind.REMOTE),
    _row(
        "mail mailx mutt neomutt himalaya notmuch mbsync fetchmail getmail offlineimap",
        "prints mails that others wrote",
        kind=OutsideKind.REMOTE,
    ),
    _row(
        "claude codex gemini opencode aider llm sgpt ollama goose cursor-agent crush amp qwen copilot mods"
        " aichat",
        "another agent or model did the reading",
        kind=OutsideKind.OTHER_AGENT,
        unless="--version version --help help list ps show serve pull rm",
    ),
    _row(
        "pbpaste xsel wl-paste xclip",
        "prints whatever was copied last",
        kind=OutsideKind.UNKNOWN_TOOL,
    ),
    _row(
        "printenv",
        "prints the environment, passwords too",
        kind=OutsideKind.SENSITIVE_FILE,
    ),
    _row(
        "pass op bw lpass keyring vault sops security gopass chamber doppler infisical",
        "prints what is kept in a store of secrets",
        kind=OutsideKind.SENSITIVE_FILE,
    ),
)

# An address that is an argument of these is named and not read; of git, behind these words.
NAMING_ONLY = words(
    "echo printf grep rg ag ack sed awk gawk cat tee test [ [[ export declare local readonly unset read true"
    " false : cd pushd mkdir touch rm mv cp ln chmod chown ls jq yq find fd sort uniq wc head tail cut tr"
    " xdg-open open expr basename dirname set alias trap return exit case for if while source ."
)
GIT_NAMING = words(
    "remote push commit config tag notes log add branch merge am apply grep show diff blame rev-list describe"
    " stash request-pull send-email credential bisect checkout switch status"
)
# These show what is in the files and folders that they are given.
SHOWING = words("cat bat head tail less more nl tac strings tree")
# These name a file without printing what is in it.
NOT_PRINTING = words(
    "rm touch chmod chown ls mkdir rmdir test [ [[ stat file du git cd pushd ln basename dirname echo printf"
    " find fd which type export unset exit shred realpath readlink"
)
# Options with which a call of this machine may still end elsewhere: the long ones, and the short letters.
LEAVING_HOME = words(
    "--location --location-trusted --url --base --execute --use-askpass --proxy --proxy1.0 --resolve"
    " --connect-to --config --socks5"
    " --socks5-hostname --socks4 --socks4a --preproxy --follow --input-file --unix-socket"
    " --abstract-unix-socket --doh-url --next"
)
LEAVING_HOME_LETTERS = {"curl": "LxK:", "wget": "LxKieB", "wget2": "LxKieB"}
LEAVING_HOME_LETTERS_ELSEWHERE = "LxKF"
# Settings that lead a request elsewhere, wherever it says that it goes; any name that ends in `_proxy` too.
LEAVING_HOME_SETTINGS = words(
    "CURL_HOME WGETRC SYSTEM_WGETRC HOME XDG_CONFIG_HOME LD_PRELOAD PATH HOSTALIASES"
)


def _by_program(rows: Sequence[ProgramRow]) -> Mapping[str, ProgramRow]:
    return {program: row for row in rows for program in row.programs}


BY_PROGRAM = _by_program(PROGRAMS)
