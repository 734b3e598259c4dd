"""The forms of what software is made, packed and run with: versions, packages, builds, tests, clouds."""

from collections.abc import Mapping

from runlore.domain.shell.form import Form, form

_NPM = form(
    1,
    "-w --workspace --prefix --registry --tag --loglevel --userconfig -C --dir --filter -F --cwd --otp --omit"
    " --include --audit-level --depth",
    nested="run run-script workspace config dist-tag exec dlx cache",
)
_APT = form(1, "-o -c -t --option --config-file --target-release --default-release")
_DOCKER = form(
    1,
    "-H --host --context --config -l --log-level",
    of={
        "build": "-t --tag -f --file --build-arg --target --platform --network --label --cache-from"
        " --cache-to"
        " --output -o --secret --ssh --progress --iidfile --add-host --memory -m --cpuset-cpus",
        "run": "-p --publish -v --volume -e --env --env-file --name -w --workdir -u --user --network --net"
        " --entrypoint"
        " --mount --platform -m --memory --cpus -l --label --hostname -h --restart --gpus --add-host --ip"
        " --dns"
        " --shm-size --ulimit --device --cap-add --cap-drop --security-opt --pull --tmpfs --log-driver"
        " --log-opt"
        " --health-cmd --stop-timeout --link --userns --pid --ipc --volumes-from",
        "exec": "-e --env --env-file -u --user -w --workdir",
        "logs": "-n --tail --since --until",
        "ps": "-f --filter --format -n --last",
        "images": "-f --filter --format",
        "inspect": "-f --format --type",
        "rmi": "--platform",
        "pull": "--platform",
        "push": "--platform",
        "login": "-u --username -p --password",
        "stop": "-t --time -s --signal",
        "create": "-p --publish -v --volume -e --env --name -w --workdir -u --user --network --entrypoint",
        "compose": "-f --file -p --project-name --env-file --profile --project-directory -t --timeout"
        " --scale",
        "buildx": "-t --tag -f --file --build-arg --target --platform --output -o --builder --cache-from"
        " --cache-to",
        "cp": "",
        "save": "-o --output",
        "load": "-i --input",
        "commit": "-a --author -m --message -c --change",
    },
    nested="compose container image volume network system buildx builder context manifest plugin swarm"
    " service stack",
)
_PIP = form(
    1,
    "-r --requirement -c --constraint -e --editable -t --target -i --index-url --extra-index-url -f"
    " --find-links"
    " --prefix --root --python --timeout --retries --proxy --cache-dir --log --trusted-host --platform -d"
    " --dest -w"
    " --wheel-dir --python-version --only-binary --no-binary --report --src --implementation --abi",
    nested="config cache index",
)
_MAKE = form(1, "-C -f -I -j -l -o -W --directory --file --makefile --jobs --load-average --include-dir")

FORMS_OF_TOOLS: Mapping[str, Form] = {
    "git": form(
        1,
        "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env",
        of={
            "commit": "-m --message -F --file -C -c --reuse-message --reedit-message --author --date --fixup"
            " --squash"
            " -t --template --cleanup --trailer --pathspec-from-file",
            "clone": "-b --branch --depth -o --origin -c --config --reference -j --jobs --filter"
            " --separate-git-dir"
            " --shallow-since --template -u --upload-pack",
            "log": "-n --max-count --since --until --after --before --author --grep --format --pretty -L -S"
            " -G --date"
            " --skip --diff-filter -U --unified --committer",
            "show": "--format --pretty --date -U --unified",
            "diff": "-U --unified --diff-filter -S -G --stat-width --inter-hunk-context --output -O",
            "checkout": "-b -B --orphan --conflict --pathspec-from-file",
            "switch": "-c -C --create --force-create --orphan",
            "branch": "-u --set-upstream-to --contains --merged --no-merged --points-at --sort --format",
            "push": "-o --push-option --repo --receive-pack --exec",
            "pull": "-s --strategy -X --strategy-option --depth -j --jobs",
            "fetch": "--depth --deepen --shallow-since -j --jobs --refmap --upload-pack",
            "merge": "-m --message -s --strategy -X --strategy-option -F --file --into-name",
            "rebase": "--onto -s --strategy -X --strategy-option -x --exec -C --whitespace",
            "reset": "--pathspec-from-file",
            "tag": "-m --message -F --file -u --local-user --sort --format --points-at --contains",
            "stash": "-m --message --pathspec-from-file",
            "config": "-f --file --blob -t --type --get-color --default",
            "worktree": "-b -B --reason",
            "cherry-pick": "-m --mainline -s --strategy -X --strategy-option",
            "revert": "-m --mainline -s --strategy -X --strategy-option",
            "blame": "-L --since --date --ignore-rev --ignore-revs-file",
            "grep": "-e -f -m -A -B -C --max-depth --threads",
            "format-patch": "-o --output-directory --subject-prefix -n --start-number --base --to --cc",
            "apply": "-p -C --directory --exclude --include --whitespace",
            "archive": "--format --prefix -o --output --remote",
            "remote": "-t -m",
            "submodule": "-b --branch --name --reference --depth -j --jobs",
            "shortlog": "--group --format",
            "clean": "-e --exclude",
            "ls-files": "-x --exclude -X --exclude-from --with-tree",
            "rev-list": "-n --max-count --since --until --author",
            "bisect": "--term-old --term-new",
        },
        nested="remote stash submodule worktree bisect notes lfs flow sparse-checkout maintenance reflog",
    ),
    "docker": _DOCKER,
    "podman": _DOCKER,
    "nerdctl": _DOCKER,
    "docker-compose": form(
        1,
        "-f --file -p --project-name --env-file --profile --project-directory -H --host --ansi",
        of={
            "up": "-t --timeout --scale --exit-code-from --attach --pull",
            "run": "-e --env -v --volume -p --publish -u --user -w --workdir --name --entrypoint -l --label",
            "exec": "-e --env -u --user -w --workdir --index",
            "logs": "--tail --since --until -n",
            "down": "-t --timeout --rmi",
            "build": "--build-arg -m --memory --progress --ssh",
        },
    ),
    "npm": _NPM,
    "pnpm": _NPM,
    "yarn": _NPM,
    "bun": _NPM,
    "npx": form(1, "-p --package -c --call -w --workspace --node-options"),
    "bunx": form(1),
    "uvx": form(1, "--from --with -p --python --index-url --with-requirements"),
    "pipx": form(1, "--python --spec --index-url --pip-args --suffix"),
    "pip": _PIP,
    "uv": form(
        1,
        "-p --python --project --directory --config-file --cache-dir --index-url --extra-index-url"
        " --default-index"
        " --index --with --with-editable --with-requirements --env-file --group --only-group --no-group"
        " --extra"
        " --package -r --requirement -c --constraint -e --editable --find-links -f --exclude-newer"
        " --refresh-package"
        " --prerelease --resolution -o --output-file -P --upgrade-package --link-mode --color -t --target"
        " --prefix"
        " --from --module -m",
        nested="pip tool python cache self",
        runs="run",
    ),
    "poetry": form(
        1,
        "-C --directory -P --project -G --group --with --without --only -E --extras --source --python",
        nested="env cache config self source",
        runs="run",
    ),
    "pipenv": form(1, "--python -r --requirements -i --index --categories", runs="run"),
    "pdm": form(1, "-p --project -G --group -k --skip", runs="run"),
    "hatch": form(1, "-e --env -p --project --data-dir --cache-dir --config", nested="env", runs="run"),
    "rye": form(1, nested="self toolchain tools", runs="run"),
    "bundle": form(1, "--gemfile --jobs -j --path --with --without --retry", runs="exec"),
    "mise": form(1, "-C --cd -E --env -j --jobs", nested="run", runs="exec x"),
    "direnv": form(1, runs="exec"),
    "dotenv": form(1, "-f -e", runs="run"),
    "conda": form(1, "-n --name -p --prefix -c --channel -f --file", nested="env", runs="run"),
    "mamba": form(1, "-n --name -p --prefix -c --channel -f --file", nested="env", runs="run"),
    "cargo": form(
        1,
        "-p --package --manifest-path --target --target-dir --features -F --profile --color -Z --config -j"
        " --jobs"
        " --message-format --bin --example --test --bench --exclude -C --lockfile-path",
        of={
            "install": "--version --vers --git --branch --tag --rev --path --root --registry --index",
            "new": "--name --edition --vcs --registry",
            "init": "--name --edition --vcs",
            "add": "--git --branch --tag --rev --path --rename --registry",
            "run": "",
        },
        nested="nextest llvm-cov xtask",
    ),
    "rustup": form(
        1, "--toolchain --target --profile -c --component", nested="toolchain target component override"
    ),
    "go": form(
        1,
        "-o -p -mod -modfile -tags -ldflags -gcflags -asmflags -overlay -pkgdir -toolexec -C -exec -run"
        " -bench -count"
        " -timeout -cpu -parallel -coverprofile -covermode -coverpkg -benchtime -cpuprofile -memprofile"
        " -trace -list"
        " -fuzz -fuzztime -shuffle -skip -outputdir -blockprofile -mutexprofile -f -vettool -buildmode"
        " -compiler",
        nested="mod work tool",
        joined=False,
    ),
    "kubectl": form(
        1,
        "-n --namespace --context --kubeconfig --cluster --user -s --server --as --token -f --filename -k"
        " --kustomize"
        " -l --selector -o --output --field-selector -c --container --tail --since --since-time --timeout"
        " --replicas"
        " --image --port --type -p --patch --grace-period --sort-by --template --for --overrides --env"
        " --limits"
        " --requests --restart --from-literal --from-file --record-to --address --request-timeout -v"
        " --revision"
        " --to-revision --cascade --field-manager --patch-file --subresource",
        nested="rollout config create set auth top certificate cluster-info",
    ),
    "helm": form(
        1,
        "-n --namespace -f --values --set --set-string --set-file --version --repo --timeout --kube-context"
        " --kubeconfig -o --output --post-renderer --history-max --max --revision -d --destination"
        " --username --password",
        nested="repo plugin dependency registry get show",
    ),
    "terraform": form(
        1,
        "-var -var-file -target -out -state -backend-config -chdir -lock-timeout -parallelism -replace"
        ""
        " -plugin-dir",
        nested="workspace state providers",
        joined=False,
    ),
    "tofu": form(
        1, "-var -var-file -target -out -state -backend-config -chdir", nested="workspace state", joined=False
    ),
    "aws": form(
        2,
        "--profile --region --output --query --endpoint-url --cli-input-json --bucket --key --body"
        " --function-name"
        " --payload --instance-ids --stack-name --template-body --parameters --filters --log-group-name"
        " --max-items"
        " --starting-token --page-size --cluster --service --task-definition --secret-id --name --names"
        " --table-name"
        " --queue-url --exclude --include --acl --role-arn --policy-arn --user-name --repository-name"
        " --image-ids",
    ),
    "gcloud": form(
        3,
        "--project --region --zone --format --filter --account --configuration --image --service-account"
        " --limit"
        " --memory --cpu --platform --source --entry-point --runtime --tag --verbosity",
    ),
    "az": form(
        2, "-g --resource-group -n --name -o --output --subscription --query -l --location --sku --image"
    ),
    "gh": form(
        2,
        "-R --repo -t --title -b --body -F --body-file -B --base -H --head -l --label -a --assignee -r"
        " --reviewer -m"
        " --milestone -p --project -L --limit -s --state --json -q --jq -T --template -X --method -f"
        " --raw-field -H"
        " --header --field --input --hostname --search -w --workflow --branch -e --event -u --user -c"
        " --comment --ref"
        " --name -D --dir --notes --notes-file --target -A --author -S",
    ),
    "glab": form(
        2,
        "-R --repo -t --title -d --description -l --label -a --assignee -b --target-branch -s"
        " --source-branch",
    ),
    "brew": form(1, "--appdir", nested="services bundle tap"),
    "apt": _APT,
    "apt-get": _APT,
    "apt-cache": _APT,
    "aptitude": _APT,
    "dnf": form(1, "-c --config --enablerepo --disablerepo --repo -x --exclude --installroot --releasever"),
    "yum": form(1, "-c --config --enablerepo --disablerepo -x --exclude --installroot --releasever"),
    "zypper": form(1, "-R --root -r --repo -p --plus-repo"),
    "apk": form(1, "-X --repository -p --root -t --virtual --repositories-file"),
    "pacman": form(0, "-r --root -b --dbpath --config --cachedir"),
    "snap": form(1, "--channel --revision"),
    "gem": form(1, "-v --version -i --install-dir -n --bindir -s --source --platform"),
    "composer": form(1, "-d --working-dir"),
    "dotnet": form(
        1,
        "-c --configuration -f --framework -o --output -r --runtime -v --verbosity --project"
        " --filter"
        " --logger -p --source -n --name --version",
        nested="tool nuget sln new add list ef",
    ),
    "make": _MAKE,
    "gmake": _MAKE,
    "just": form(1, "-f --justfile -d --working-directory --set --shell"),
    "task": form(1, "-t --taskfile -d --dir -C --concurrency -o --output"),
    "rake": form(1, "-f --rakefile -C --directory -I -r --require -j --jobs"),
    "ninja": form(1, "-C -f -j -k -l -d -t"),
    "cmake": form(
        0, "-S -B -G -T -A -C -P -E --target --config -t -j --parallel --install-dir --preset --prefix"
    ),
    "bazel": form(
        1, "--config -c --compilation_mode --jobs --test_filter --output_base --test_output --define"
    ),
    "gradle": form(
        1, "-p --project-dir -b --build-file -c --settings-file --tests -P -D -I --init-script --max-workers"
    ),
    "gradlew": form(1, "-p --project-dir --tests -P -D --max-workers"),
    "mvn": form(
        1, "-f --file -pl --projects -P --activate-profiles -D --define -s --settings -T --threads -rf"
    ),
    "mvnw": form(1, "-f --file -pl --projects -P -D -s -T"),
    "ant": form(1, "-f -file -buildfile -D -logger -lib"),
    "sbt": form(1),
    "mix": form(1, "--only --exclude --include --seed --max-failures"),
    "nox": form(0, "-s --session --sessions -k --keywords -p --python -f --noxfile -e -t --tags"),
    "tox": form(1, "-e -c --conf --workdir --root -p --parallel -x --override", joined=False),
    "pytest": form(
        0,
        "-k -m -n --numprocesses -p -c -o --rootdir --maxfail --tb --cov --cov-report --cov-config --junitxml"
        " --timeout --durations -W --ignore --deselect --log-level --log-cli-level --color --confcutdir"
        " --dist"
        " --basetemp --override-ini --import-mode --hypothesis-seed --hypothesis-profile --randomly-seed"
        " --capture"
        " --show-capture --count --reruns --html --durations-min",
    ),
    "ruff": form(
        1,
        "--config --select --ignore --extend-select --line-length --target-version"
        " --output-format"
        " --exclude --per-file-ignores -o --output-file --cache-dir --stdin-filename",
    ),
    "mypy": form(
        0,
        "--config-file -p --package -m --module --python-version --python-executable"
        " --cache-dir -c"
        " --exclude --platform --follow-imports --disable-error-code --enable-error-code",
    ),
    "black": form(
        0, "-l --line-length -t --target-version --include --exclude --config --extend-exclude --workers"
    ),
    "eslint": form(
        0,
        "-c --config --ext --rule --plugin --parser --format -f -o --output-file"
        " --max-warnings"
        " --ignore-path --cache-location --env --global --ignore-pattern",
    ),
    "prettier": form(0, "--config --ignore-path --parser --plugin --tab-width --print-width --log-level"),
    "tsc": form(0, "-p --project --outDir --target --module --lib --rootDir", joined=False),
    "jest": form(
        0, "-c --config -t --testNamePattern --testPathPattern --maxWorkers -w --reporters --rootDir"
    ),
    "vitest": form(1, "-c --config -t --testNamePattern --root -r --reporter --project --shard"),
    "playwright": form(1, "-c --config -g --grep --project --workers -j --reporter"),
    "golangci-lint": form(1, "-c --config -D --disable -E --enable --timeout -j --concurrency --out-format"),
    "pre-commit": form(1, "-c --config --files --from-ref --to-ref --hook-stage"),
    "alembic": form(1, "-c --config -n --name -x -m --message"),
    "django-admin": form(1, "--settings --pythonpath"),
    "manage.py": form(1, "--settings --pythonpath --database"),
    "flask": form(1, "-A --app -e --env-file -h --host -p --port", nested="db"),
    "uvicorn": form(
        0, "--host --port --workers --reload-dir --log-level --env-file --app-dir --uds --log-config"
    ),
    "gunicorn": form(
        0, "-b --bind -w --workers -k --worker-class -t --timeout -c --config --log-level -n --name"
    ),
    "systemctl": form(1, "-n --lines -o --output -t --type --state -p --property -H --host -s --signal"),
    "journalctl": form(
        0, "-u --unit -n --lines -S --since -U --until -o --output -p --priority -t --identifier -b"
    ),
    "service": form(0),
    "supervisorctl": form(1, "-c --configuration -s --serverurl -u --username -p --password"),
    "tmux": form(1, "-t -s -n -c -F -L -S -f"),
}
