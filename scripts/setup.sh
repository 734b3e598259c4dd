#!/bin/sh
# Makes what the targets of the Makefile need, and makes nothing twice.
#
#   scripts/setup.sh run     .venv with what Runlore needs to run
#   scripts/setup.sh dev     .venv with what its tests and tools need too
#   scripts/setup.sh test    the same, and a PostgreSQL server, a browser and strace for the tests to start
#   scripts/setup.sh soak    the same, and where they can be had a small model with a server for it, and a fuzzer
#   scripts/setup.sh typescript   what builds the TypeScript client, where npm can be had
#
# What only root can install is installed when we are root; else the line to run is printed and we stop.
# PYTHON=/path/to/python chooses the interpreter.
set -eu

cd "$(dirname "$0")/.."
here=$(pwd -P)
venv=$here/.venv
unfinished=$venv/.unfinished
identity='import sys; print(sys.version, sys.base_prefix)'
unset PYTHONHOME PYTHONPATH

main() {
    case "${1:-}" in
        run | dev)
            need_venv
            install "$1"
            ;;
        test | soak)
            need_venv
            # The system's packages come while pip works; both wait for the network most of their time.
            need_packages &
            packages=$!
            { want_agents "$1"; want_typescript; } &
            agents=$!
            trap wait EXIT
            install dev
            wait "$packages"
            wait "$agents"
            if [ "$1" = soak ]; then want_soak_packages; fi
            ;;
        typescript) want_typescript ;;
        *) stop "usage: scripts/setup.sh run|dev|test|soak|typescript" ;;
    esac
}

say() { printf 'runlore: %s\n' "$*"; }

stop() {
    printf 'runlore: %s\n' "$*" >&2
    exit 1
}

# The stamp of an installation is what it was made from. What the tests need contains what running needs.
install() {
    if is_installed "$1" || is_installed dev; then return; fi
    say "installing requirements/$1.txt into .venv"
    : >"$unfinished"
    pip install --no-deps --require-hashes --only-binary :all: --requirement "requirements/$1.txt"
    pip install --no-deps --no-build-isolation --editable .
    pip check
    stamp_of "$1" >"$venv/.installed-$1"
    rm -f "$unfinished"
}

is_installed() {
    [ "$(cat "$venv/.installed-$1" 2>/dev/null)" = "$(stamp_of "$1")" ]
}

stamp_of() {
    {
        cat pyproject.toml hatch_build.py src/runlore/recall/kernel.c "requirements/$1.txt"
        # With a compiler that was not there before, what is installed is another.
        command -v "${CC:-cc}" || true
    } | cksum
}

pip() {
    PIP_USER=0 "$venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input "$@" </dev/null
}

# Our own .venv may be the active one and may have to be made anew, so a virtual environment's
# interpreter stands for the Python that it was made from.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        base_of "$PYTHON" || stop "PYTHON=$PYTHON is not a Python 3.11 or later"
        return
    fi
    for name in python3.14 python3.13 python3.12 python3.11 python3; do
        if base_of "$name"; then return; fi
    done
    stop "no Python 3.11 or later was found. Install one, or name it:  make PYTHON=/path/to/python up"
}

# A version manager's stand-in can be on PATH without working, so the candidate is run.
base_of() {
    "$1" -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(1)
print(getattr(sys, "_base_executable", None) or sys.executable)
' 2>/dev/null
}

need_venv() {
    python=$(find_python)
    venv_is_healthy || make_venv
}

# Healthy: no set-up was broken off in it, it comes from the Python we would use, and it was made in
# this folder (its scripts name their interpreter by its path).
venv_is_healthy() {
    [ ! -e "$unfinished" ] &&
        [ "$("$venv/bin/python" -c "$identity" 2>/dev/null)" = "$("$python" -c "$identity")" ] &&
        grep -q -F "$venv/bin/python" "$venv/bin/pip" 2>/dev/null &&
        "$venv/bin/python" -m pip --version >/dev/null 2>&1
}

make_venv() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_packages "$(venv_package)"
    say "making .venv with $("$python" --version)"
    rm -rf "$venv"
    mkdir "$venv"
    : >"$unfinished"
    "$python" -m venv "$venv"
}

# Debian calls it python3-venv for its own Python, and names it after the version for any other.
venv_package() {
    own=$(/usr/bin/python3 -c "$identity" 2>/dev/null || true)
    if [ "$("$python" -c "$identity")" = "$own" ]; then
        echo python3-venv
    else
        "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
    fi
}

# The tests know where servers and browsers live; asking them keeps that knowledge in one place.
need_packages() {
    missing=$(missing_packages)
    if [ -z "$missing" ]; then return; fi
    # shellcheck disable=SC2086 # a word for each package
    install_packages $missing
    missing=$(missing_packages)
    [ -z "$missing" ] || stop "$missing was installed, and is still not found"
}

missing_packages() {
    "$venv/bin/python" -m tests.system_programs
}

# Nothing of ours needs these, so they are kept apart, and what they would need themselves is left out. Where
# they cannot be had, the tests go on without them, and say so once more in their summary.
want_soak_packages() {
    wanted=requirements/soak.txt
    if [ "$(cat "$venv/.installed-soak" 2>/dev/null)" = "$(cksum <"$wanted")" ]; then return; fi
    say "installing $wanted into .venv/soak"
    rm -rf "$venv/soak"
    if pip install --no-deps --require-hashes --only-binary :all: --target "$venv/soak" --requirement "$wanted"; then
        cksum <"$wanted" >"$venv/.installed-soak"
    else
        rm -rf "$venv/soak"
        say "NO SOAK PACKAGES: $wanted could not be installed; no test will speak to a real model here, or fuzz by coverage"
    fi
}

# The programs that people connect, for the tests to start against a model of their own, and a provider of OpenID
# Connect to log in with. As above: where they cannot be had, the tests go on without them, and name them in
# their summary.
want_agents() {
    wanted="@anthropic-ai/claude-code@2.1.326 @openai/codex@0.169.0 oidc-provider@9.13.3"
    if [ "$1" = soak ]; then wanted="$wanted @google/gemini-cli@0.61.0 opencode-ai@1.18.33 @github/copilot@1.0.102"; fi
    # What soak needs contains what the tests need.
    case "$(cat "$venv/.installed-agents" 2>/dev/null)" in "$wanted"*) return ;; esac
    rm -rf "$venv/agents"
    # shellcheck disable=SC2086 # a word for each package
    if command -v npm >/dev/null && npm install --prefix "$venv/agents" --no-save --no-audit --no-fund --silent $wanted; then
        printf '%s' "$wanted" >"$venv/.installed-agents"
    else
        rm -rf "$venv/agents"
        say "NO AGENTS: $wanted could not be installed with npm; no test will start them on this machine"
    fi
}

# What builds the TypeScript client and compiles it; pinned with hashes, and without addresses, as pip's are.
want_typescript() {
    wanted=$(cat clients/typescript/package.json clients/typescript/package-lock.json | cksum)
    if [ "$(cat "$venv/.installed-typescript" 2>/dev/null)" = "$wanted" ]; then return; fi
    rm -rf "$venv/typescript"
    mkdir -p "$venv/typescript"
    cp clients/typescript/package.json clients/typescript/package-lock.json "$venv/typescript"
    if command -v npm >/dev/null && npm ci --prefix "$venv/typescript" --ignore-scripts --no-audit --no-fund --silent; then
        printf '%s' "$wanted" >"$venv/.installed-typescript"
    else
        rm -rf "$venv/typescript"
        say "NO TYPESCRIPT: npm could not install what builds that client; it is not built or tested on this machine"
    fi
}

install_packages() {
    if ! command -v apt-get >/dev/null; then
        stop "missing: $*. There is no apt-get to install it with. Install it and run make again."
    fi
    if [ "$(id -u)" -ne 0 ]; then
        stop "missing: $*. Run this, then make again:  sudo apt-get update && sudo apt-get install --yes $*"
    fi
    say "installing $* with apt-get"
    # One list that cannot be refreshed is no reason to stop: the package may be in another.
    apt_get update || say "apt-get update failed; going on with the lists there are"
    apt_get install --yes --no-install-recommends "$@" || stop "apt-get could not install $*"
}

# Says nothing unless it fails. Another apt-get may hold the lock for a while on a machine that just started.
apt_get() {
    told=$(DEBIAN_FRONTEND=noninteractive apt-get --quiet -o DPkg::Lock::Timeout=300 "$@" 2>&1 </dev/null) || {
        printf '%s\n' "$told" >&2
        return 1
    }
}

main "$@"
