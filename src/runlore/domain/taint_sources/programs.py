"""Shell commands that bring something from outside, with the subcommands that do, and why.

Below each kind of outside stand its programs, a row each: behind `|` the first words that count, behind `!`
those that do not.
"""

from collections.abc import Iterator

from runlore.domain.lazy import dataclass
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind
from runlore.domain.text.word_tables import table_rows, words


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


_TABLE = """
web_page text quiet_at_home | prints what an address answers, whoever wrote it
    curl wget wget2 http https httpie xh xhs curlie hurl aria2c axel fetch grpcurl websocat wscat
        invoke-webrequest invoke-restmethod iwr irm
web_page text | prints what an address answers, whoever wrote it
    lynx w3m links links2 elinks browsh trafilatura
    yt-dlp youtube-dl gallery-dl ddgr googler howdoi
download code | brings files that others wrote; their words are read later
    git | clone fetch pull am submodule ls-remote lfs fetch-pack svn
    svn hg bzr fossil | checkout co clone update up export pull incoming git sync fetch switch init
package code | installs code that others wrote, and prints what it says
    pip uv-pip pip-sync conda mamba micromamba easy_install pdm poetry pipenv hatch rye | install download
        wheel index show search add update upgrade sync lock create env inject reinstall
    uv | add sync lock tool pip python x self
    pipx ! list environment ensurepath completions uninstall uninstall-all pin unpin --version --help
    uvx npx bunx pnpx dlx
    npm yarn pnpm bun deno jsr volta corepack | install i ci add update up upgrade exec x dlx create init view
        info show search outdated audit install-test it prepare import global use
    cargo rustup | install add update fetch search info binstall vendor audit toolchain component target
    gem bundle bundler | install update fetch search add i outdated info
    go | get install mod work doc
    pydoc man tldr ri perldoc
    cookiecutter copier yo degit tiged giget
    apt apt-get aptitude dnf yum zypper apk brew port snap flatpak nix nix-env nix-channel winget choco scoop
        opkg xbps-install emerge pkg pkgin guix ! list --version remove uninstall purge autoremove clean
        leaves services --prefix --cellar config doctor
    dpkg rpm ! --version -l -q -qa -L -s -S -qi -ql --list --listfiles --status --search --remove --purge -r
        -P -e
    pacman yay paru
    composer dotnet nuget cpan cpanm luarocks opam cabal stack mix rebar3 pod carthage swift vcpkg conan
        ansible-galaxy helm terraform tofu asdf mise sdk nvm fnm pyenv rbenv gradle-get jspm bower | install
        require update upgrade add restore get deps.get package init pull repo search fetch use download
        plugin
download code | brings an image that others made
    docker podman nerdctl skopeo crane oras buildah | pull search copy cp cp-image inspect-remote load import
        inspect history
remote text | prints issues, reviews and files that others wrote
    gh glab hub tea jira acli ! auth config alias completion version --version help
remote text | prints or copies what another machine has
    ssh scp sftp mosh telnet rsh rlogin ftp lftp tftp rclone autossh
remote text | prints what another machine answers
    nc ncat netcat socat nmap
remote text | prints what a service answers, others' words among it
    aws gcloud gsutil az doctl heroku flyctl fly vercel netlify wrangler oci ibmcloud linode-cli s3cmd s5cmd
        bq mc stripe twilio supabase firebase sentry-cli datadog newrelic pulumi eksctl ! --version version
        help
remote text | prints what runs elsewhere, others' words among it
    kubectl oc k9s stern kubetail | logs exec cp attach debug port-forward proxy describe events
        configmap configmaps cm secret secrets event -o -oyaml -ojson --output
past_run text | prints what past runs said, whoever they had it from
    runlore | run runs session sessions recover
history text | prints what whoever committed it wrote
    git | log shortlog whatchanged notes reflog for-each-ref rev-list format-patch show-branch show-ref
        name-rev
    hg svn jj | log
history code | prints files as whoever committed them wrote them; their words are read in the files
    git | show blame annotate cat-file
    hg svn jj | annotate blame cat show
database text | prints rows that anybody may have written
    sqlite3 sqlite litecli duckdb mysql mariadb mysqldump psql pg_dump pg_dumpall pgcli mycli usql redis-cli
        valkey-cli iredis mongo mongosh mongodump mongoexport clickhouse-client clickhouse influx cqlsh sqlcmd
        sqlplus bsqldb etcdctl ! --version -V --help version help
    rails rake | runner r console c dbconsole db
    php python flask | tinker shell shell_plus dbshell dumpdata doctrine:query:sql doctrine:query:dql
        dbal:run-sql
remote text | prints what is kept of others' machines and services
    terraform tofu | show state output console
other_folder text | prints what is set up on this machine, whoever did it
    crontab | -l
remote text | prints what programs were told by whoever called them
    journalctl dmesg logcat
    docker podman nerdctl docker-compose | logs
remote code | prints what others have started, as they called it
    ps | aux auxw auxww auxwww auxf axu ax axf axo a x u -A -a -aux -auxww -axo -axu -e -ef -eF -efww -ely -eo
        -f -x -u -U -C --forest
    top htop w
remote text | prints what others registered
    dig nslookup host whois drill kdig
remote text | prints mails that others wrote
    mail mailx mutt neomutt himalaya notmuch mbsync fetchmail getmail offlineimap
other_agent text | another agent or model did the reading
    claude codex gemini opencode aider llm sgpt ollama goose cursor-agent crush amp qwen copilot mods aichat !
        --version version --help help list ps show serve pull rm
unknown_tool text | prints whatever was copied last
    pbpaste xsel wl-paste xclip
    tmux screen | show-buffer showb capture-pane capturep hardcopy
    osascript
sensitive_file text | prints the environment, passwords too
    printenv
sensitive_file text | prints what is kept in a store of secrets
    pass op bw lpass keyring vault sops security gopass chamber doppler infisical
"""


def _read_programs(table: str) -> Iterator[ProgramRow]:
    for head, rows in table_rows(table):
        marks, why = head.split(" | ")
        kind, brings, *quiet = marks.split()
        outside = Outside(kind=OutsideKind[kind.upper()], brings=Brings(brings), why=why)
        for row in rows:
            counting, _, unless = row.partition(" ! ")
            programs, _, when = counting.partition(" | ")
            yield ProgramRow(
                programs=tuple(programs.split()),
                outside=outside,
                when=words(when),
                unless=words(unless),
                quiet_at_home=bool(quiet),
            )


PROGRAMS = tuple(_read_programs(_TABLE))


# These work on what the folder and this machine have, and print nothing else.
LOCAL = words(
    # The shell's own words.
    " bg bind break builtin caller command compgen compopt continue dirs disown enable eval exec fc fg"
    " function getopts hash help history jobs kill let logout mapfile popd readarray shift shopt suspend"
    " time times typeset ulimit umask unalias wait autoload setopt"
    # What every system has.
    " arch bc chgrp cksum clear comm csplit date dc dd df diff diff3 dos2unix egrep expand factor fgrep"
    " fmt free gawk getconf getopt groups gunzip gzip bzip2 bunzip2 xz unxz zstd lz4 hostname iconv id"
    " info iostat join killall less locale look lsb_release lsof lscpu lsblk make mkfifo mknod mktemp more"
    " mount netstat nproc numfmt pathchk pgrep pkill pr printenv pwd rename reset rev sdiff seq sha1sum"
    " sha224sum sha256sum sha384sum sha512sum shasum md5 md5sum b2sum shuf sleep split ss stty sum sw_vers"
    " sync sysctl tac timedatectl tput truncate tsort tty uname unexpand unix2dos unlink uptime"
    " uuidgen vm_stat vmstat who whoami yes zip zipinfo"
    # Compilers, builds and their tasks.
    " ant ar as autoconf autoheader automake autoreconf bazel bazelisk bear buck buck2 c++ cc ccache clang"
    " clang++ clang-format clang-tidy cmake cpack ctest configure cppcheck cpplint csc dotnet dune dub"
    " esbuild f2py fpc g++ gcc gfortran ghc gleam go gofmt gofumpt goimports golangci-lint golint"
    " gotestsum govulncheck gradle gradlew gmake iverilog javac javap java jar kotlin kotlinc kapt ld lake"
    " lean ldd lein libtool ltrace m4 mage meson mill moon msbuild mvn mvnw nasm nim nimble ninja nm nvcc"
    " nx objcopy objdump otool pants pkg-config protoc buf ranlib readelf rustc rustfmt sbt scalac scons"
    " size soong strip swiftc swiftlint swiftformat taskfile tox nox turbo tup verilator waf xcodebuild"
    " xcrun yacc bison flex zig crystal shards rollup rspack rsbuild swc terser tsc tsup vite vitest"
    " webpack webpack-cli parcel babel sass postcss tailwindcss lerna rush wireit just task rake invoke"
    " doit"
    # Tests, linters, formatters and checks.
    " actionlint alembic ansible-lint astro ava bandit bats biome black buildifier busted checkstyle"
    " codespell commitlint c8 cypress dart dartfmt depcheck detekt django-admin dprint dvc eslint flake8"
    " flask flutter hadolint hlint isort jest karma knip ktlint lefthook license-checker lint-staged"
    " luacheck lychee markdownlint markdownlint-cli2 mdl mocha mypy next ng nuxt nyc oxlint ormolu"
    " perlcritic perltidy phpcbf phpcs phpstan phpunit pint pest playwright pre-commit prettier prove"
    " psalm publint py.test pycodestyle pydocstyle pyflakes pylint pyre pyright pytest pytype"
    " react-scripts remark rspec rubocop ruff semgrep semistandard shellcheck shfmt sorbet spotless"
    " sqlfluff standard standardrb staticcheck stylelint svelte-check svelte-kit syncpack tap tflint"
    " tslint ty typos vale vue-cli-service vue-tsc vulture xo yamllint yapf basedpyright dmypy interrogate"
    " mutmut twine"
    # What a project keeps its database, its servers and its versions with.
    " celery changeset cz dbmate diesel drizzle-kit ecto flyway gunicorn hypercorn husky knex kustomize"
    " kubeconform liquibase migrate mkdocs prisma puma rackup release-please semantic-release sequelize"
    " sphinx-build sqlc sqlx standard-version typeorm uvicorn waitress-serve"
    # Runtimes and editors that are given files of the folder.
    " code ed nano iex irb"
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
# With these options they list what others have called their branches and tags, or said in their messages.
GIT_LISTING = {
    "tag": ("-n", "--format"),
    "branch": ("-a", "-r", "-v", "--all", "--remotes", "--verbose", "--format", "-av", "-ra", "-lr", "-la"),
    "cherry": ("-v", "--verbose"),
    "stash": ("list", "show"),
    "describe": ("--all", "--contains"),
}
# With these words it shows what a branch has, others' branches too.
GIT_SHOWING = words("diff difftool range-diff grep archive ls-tree")
# What git is called with; any other word is an alias, and nobody can tell what it shows.
GIT_WORDS = words(
    "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap"
    " check-ref-format checkout checkout-index cherry cherry-pick clean clone commit commit-graph commit-tree"
    " config count-objects credential describe diff diff-files diff-index diff-tree difftool fast-export"
    " fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref format-patch fsck gc grep"
    " hash-object help hook init interpret-trailers lfs log ls-files ls-remote ls-tree maintenance merge"
    " merge-base merge-file merge-tree mergetool mktag mktree mv name-rev notes pack-objects pack-refs"
    " prune pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere"
    " reset restore rev-list rev-parse revert rm send-email shortlog show show-branch show-ref"
    " sparse-checkout"
    " stash status submodule svn switch symbolic-ref tag update-index update-ref var verify-commit"
    " verify-tag version whatchanged worktree write-tree"
)
# These show what is in the files and folders that they are given.
SHOWING = words(
    "cat bat head tail less more nl tac strings tree zcat bzcat xzcat zless cut sort uniq od xxd hexdump"
    " base64 column fold paste cmp"
)
# These as well, behind a pattern.
SEARCHING = words("grep egrep fgrep zgrep rg ag ack jq yq sed awk gawk mawk")
# These bring files from where they are told to where they are told.
UNPACKING = words("unzip tar bsdtar 7z")
BRINGING = UNPACKING | words("curl wget wget2 aria2c git scp")
# Behind these words any other program that reads from outside is told what to make.
MAKING_CLONES = words("clone checkout co export download generate degit tiged")
MAKING_COPIES = words("cp copy sync")
COPYING = words("cp mv rsync ln install")
# These name a file without printing what is in it.
NOT_PRINTING = words(
    "rm touch chmod chown ls mkdir rmdir test [ [[ stat file du git cd pushd ln basename dirname echo printf"
    " find fd which type export unset exit shred realpath readlink"
)
# These show nothing of the files of another folder that they are given, or of a container's.
NOT_SHOWING = (
    (NOT_PRINTING - words("ls find fd git"))
    | COPYING
    | words("df mount lsof kill open xdg-open code source . tar docker podman nerdctl docker-compose")
)
# These start a program of the project's before they look for one elsewhere.
LOCAL_STARTERS = words("npx bunx pnpx")
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


def _by_program() -> dict[str, tuple[ProgramRow, ...]]:
    rows: dict[str, tuple[ProgramRow, ...]] = {}
    for row in PROGRAMS:
        for program in row.programs:
            rows[program] = (*rows.get(program, ()), row)
    return rows


BY_PROGRAM = _by_program()
