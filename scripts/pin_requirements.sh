#!/bin/sh
# Pins what pyproject.toml asks for into requirements/*.txt, with the hashes of its files, for every platform
# at once and without naming a package host. Only what has wheels is taken. Arguments go to `uv pip compile`:
# --upgrade takes newer releases.
set -eu
cd "$(dirname "$0")/.."

pin() {
    file=$1
    shift
    .venv/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
        --generate-hashes --only-binary :all: --no-emit-index-url --no-annotate --no-header \
        --output-file "requirements/$file" "$@"
}

# The build backend is pinned with the rest, so that the editable install fetches nothing unpinned.
pin run.txt --group build --extra agent --extra postgres "$@"
pin dev.txt --group build --group dev --all-extras --constraint requirements/run.txt "$@"

# npm's own lock file, without the addresses of registries and of those who take donations.
if command -v npm >/dev/null; then
    npm install --prefix clients/typescript --package-lock-only --omit-lockfile-registry-resolved --no-audit --silent
    .venv/bin/python - clients/typescript/package-lock.json <<'END'
import json, pathlib, sys

lock = pathlib.Path(sys.argv[1])
locked = json.loads(lock.read_text())
for package in locked["packages"].values():
    package.pop("funding", None)
lock.write_text(json.dumps(locked, indent=2) + "\n")
END
fi
