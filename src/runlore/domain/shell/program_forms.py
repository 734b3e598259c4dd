"""How the words of programs are read: which flags take a value, which plain words say what is done.

A row has the names of programs, how many plain words belong to their form, `apart` where short flags never
stand together, and the flags that take a value. Indented rows belong to it: a subcommand with the flags that
take one behind it, or words after `*nested`, `*runs` and `*modules`. A row that is indented twice goes on.

A flag's value goes with the flag; a flag that no table names stays. Flags of one subcommand alone stand under
it, for the same letter means different things: `docker build -t` takes a name, `docker run -t` takes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field

from runlore.domain.lazy import dataclass
from runlore.domain.text.word_tables import table_rows


@dataclass(frozen=True, kw_only=True)
class Form:
    """How one program's words are read.

    `subcommands` is how many plain words belong to the form; the words in `nested` have one more behind them,
    and what stands behind a word in `runs` is a command of its own. `joined` says that short flags without a
    value may stand together (`-rf`). `modules` are flags whose value tells what is done (`python -m pytest`).
    """

    subcommands: int = 0
    values: frozenset[str] = frozenset()
    values_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    nested: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    joined: bool = True


_TABLE = """
git 1 -C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env
    *nested remote stash submodule worktree bisect notes lfs flow sparse-checkout maintenance reflog
    commit -m --message -F --file -C -c --reuse-message --reedit-message --author --date --fixup --squash -t
        --template --cleanup --trailer --pathspec-from-file
    clone -b --branch --depth -o --origin -c --config --reference -j --jobs --filter --separate-git-dir
        --shallow-since --template -u --upload-pack
    log -n --max-count --since --until --after --before --author --grep --format --pretty -L -S -G --date
        --skip --diff-filter -U --unified --committer
    show --format --pretty --date -U --unified
    diff -U --unified --diff-filter -S -G --stat-width --inter-hunk-context --output -O
    checkout -b -B --orphan --conflict --pathspec-from-file
    switch -c -C --create --force-create --orphan
    branch -u --set-upstream-to --contains --merged --no-merged --points-at --sort --format
    push -o --push-option --repo --receive-pack --exec
    pull -s --strategy -X --strategy-option --depth -j --jobs
    fetch --depth --deepen --shallow-since -j --jobs --refmap --upload-pack
    merge -m --message -s --strategy -X --strategy-option -F --file --into-name
    rebase --onto -s --strategy -X --strategy-option -x --exec -C --whitespace
    reset --pathspec-from-file
    tag -m --message -F --file -u --local-user --sort --format --points-at --contains
    stash -m --message --pathspec-from-file
    config -f --file --blob -t --type --get-color --default
    worktree -b -B --reason
    cherry-pick -m --mainline -s --strategy -X --strategy-option
    revert -m --mainline -s --strategy -X --strategy-option
    blame -L --since --date --ignore-rev --ignore-revs-file
    grep -e -f -m -A -B -C --max-depth --threads
    format-patch -o --output-directory --subject-prefix -n --start-number --base --to --cc
    apply -p -C --directory --exclude --include --whitespace
    archive --format --prefix -o --output --remote
    remote -t -m
    submodule -b --branch --name --reference --depth -j --jobs
    shortlog --group --format
    clean -e --exclude
    ls-files -x --exclude -X --exclude-from --with-tree
    rev-list -n --max-count --since --until --author
    bisect --term-old --term-new
docker podman nerdctl 1 -H --host --context --config -l --log-level
    *nested compose container image volume network system buildx builder context manifest plugin swarm service
        stack
    build -t --tag -f --file --build-arg --target --platform --network --label --cache-from --cache-to
        --output -o --secret --ssh --progress --iidfile --add-host --memory -m --cpuset-cpus
    run -p --publish -v --volume -e --env --env-file --name -w --workdir -u --user --network --net
        --entrypoint --mount --platform -m --memory --cpus -l --label --hostname -h --restart --gpus
        --add-host --ip --dns --shm-size --ulimit --device --cap-add --cap-drop --security-opt --pull --tmpfs
        --log-driver --log-opt --health-cmd --stop-timeout --link --userns --pid --ipc --volumes-from
    exec -e --env --env-file -u --user -w --workdir
    logs -n --tail --since --until
    ps -f --filter --format -n --last
    images -f --filter --format
    inspect -f --format --type
    rmi --platform
    pull --platform
    push --platform
    login -u --username -p --password
    stop -t --time -s --signal
    create -p --publish -v --volume -e --env --name -w --workdir -u --user --network --entrypoint
    compose -f --file -p --project-name --env-file --profile --project-directory -t --timeout --scale
    buildx -t --tag -f --file --build-arg --target --platform --output -o --builder --cache-from --cache-to
    cp
    save -o --output
    load -i --input
    commit -a --author -m --message -c --change
docker-compose 1 -f --file -p --project-name --env-file --profile --project-directory -H --host --ansi
    up -t --timeout --scale --exit-code-from --attach --pull
    run -e --env -v --volume -p --publish -u --user -w --workdir --name --entrypoint -l --label
    exec -e --env -u --user -w --workdir --index
    logs --tail --since --until -n
    down -t --timeout --rmi
    build --build-arg -m --memory --progress --ssh
npm pnpm yarn bun 1 -w --workspace --prefix --registry --tag --loglevel --userconfig -C --dir --filter -F
        --cwd --otp --omit --include --audit-level --depth
    *nested run run-script workspace config dist-tag exec dlx cache
npx 1 -p --package -c --call -w --workspace --node-options
uvx 1 --from --with -p --python --index-url --with-requirements
pipx 1 --python --spec --index-url --pip-args --suffix
pip 1 -r --requirement -c --constraint -e --editable -t --target -i --index-url --extra-index-url -f
        --find-links --prefix --root --python --timeout --retries --proxy --cache-dir --log --trusted-host
        --platform -d --dest -w --wheel-dir --python-version --only-binary --no-binary --report --src
        --implementation --abi
    *nested config cache index
uv 1 -p --python --project --directory --config-file --cache-dir --index-url --extra-index-url --default-index
        --index --with --with-editable --with-requirements --env-file --group --only-group --no-group --extra
        --package -r --requirement -c --constraint -e --editable --find-links -f --exclude-newer
        --refresh-package --prerelease --resolution -o --output-file -P --upgrade-package --link-mode --color
        -t --target --prefix --from --module -m
    *nested pip tool python cache self
    *runs run
poetry 1 -C --directory -P --project -G --group --with --without --only -E --extras --source --python
    *nested env cache config self source
    *runs run
pipenv 1 --python -r --requirements -i --index --categories
    *runs run
pdm 1 -p --project -G --group -k --skip
    *runs run
hatch 1 -e --env -p --project --data-dir --cache-dir --config
    *nested env
    *runs run
rye 1
    *nested self toolchain tools
    *runs run
bundle 1 --gemfile --jobs -j --path --with --without --retry
    *runs exec
mise 1 -C --cd -E --env -j --jobs
    *nested run
    *runs exec x
direnv 1
    *runs exec
dotenv 1 -f -e
    *runs run
conda mamba 1 -n --name -p --prefix -c --channel -f --file
    *nested env
    *runs run
cargo 1 -p --package --manifest-path --target --target-dir --features -F --profile --color -Z --config -j
        --jobs --message-format --bin --example --test --bench --exclude -C --lockfile-path
    *nested nextest llvm-cov xtask
    install --version --vers --git --branch --tag --rev --path --root --registry --index
    new --name --edition --vcs --registry
    init --name --edition --vcs
    add --git --branch --tag --rev --path --rename --registry
    run
rustup 1 --toolchain --target --profile -c --component
    *nested toolchain target component override
go 1 apart -o -p -mod -modfile -tags -ldflags -gcflags -asmflags -overlay -pkgdir -toolexec -C -exec -run
        -bench -count -timeout -cpu -parallel -coverprofile -covermode -coverpkg -benchtime -cpuprofile
        -memprofile -trace -list -fuzz -fuzztime -shuffle -skip -outputdir -blockprofile -mutexprofile -f
        -vettool -buildmode -compiler
    *nested mod work tool
kubectl 1 -n --namespace --context --kubeconfig --cluster --user -s --server --as --token -f --filename -k
        --kustomize -l --selector -o --output --field-selector -c --container --tail --since --since-time
        --timeout --replicas --image --port --type -p --patch --grace-period --sort-by --template --for
        --overrides --env --limits --requests --restart --from-literal --from-file --record-to --address
        --request-timeout -v --revision --to-revision --cascade --field-manager --patch-file --subresource
    *nested rollout config create set auth top certificate cluster-info
helm 1 -n --namespace -f --values --set --set-string --set-file --version --repo --timeout --kube-context
        --kubeconfig -o --output --post-renderer --history-max --max --revision -d --destination --username
        --password
    *nested repo plugin dependency registry get show
terraform 1 apart -var -var-file -target -out -state -backend-config -chdir -lock-timeout -parallelism
        -replace -plugin-dir
    *nested workspace state providers
tofu 1 apart -var -var-file -target -out -state -backend-config -chdir
    *nested workspace state
aws 2 --profile --region --output --query --endpoint-url --cli-input-json --bucket --key --body
        --function-name --payload --instance-ids --stack-name --template-body --parameters --filters
        --log-group-name --max-items --starting-token --page-size --cluster --service --task-definition
        --secret-id --name --names --table-name --queue-url --exclude --include --acl --role-arn --policy-arn
        --user-name --repository-name --image-ids
gcloud 3 --project --region --zone --format --filter --account --configuration --image --service-account
        --limit --memory --cpu --platform --source --entry-point --runtime --tag --verbosity
az 2 -g --resource-group -n --name -o --output --subscription --query -l --location --sku --image
gh 2 -R --repo -t --title -b --body -F --body-file -B --base -H --head -l --label -a --assignee -r --reviewer
        -m --milestone -p --project -L --limit -s --state --json -q --jq -T --template -X --method -f
        --raw-field --header --field --input --hostname --search -w --workflow --branch -e --event -u --user
        -c --comment --ref --name -D --dir --notes --notes-file --target -A --author -S
glab 2 -R --repo -t --title -d --description -l --label -a --assignee -b --target-branch -s --source-branch
brew 1 --appdir
    *nested services bundle tap
apt apt-get apt-cache aptitude 1 -o -c -t --option --config-file --target-release --default-release
dnf 1 -c --config --enablerepo --disablerepo --repo -x --exclude --installroot --releasever
yum 1 -c --config --enablerepo --disablerepo -x --exclude --installroot --releasever
zypper 1 -R --root -r --repo -p --plus-repo
apk 1 -X --repository -p --root -t --virtual --repositories-file
pacman 0 -r --root -b --dbpath --config --cachedir
snap 1 --channel --revision
gem 1 -v --version -i --install-dir -n --bindir -s --source --platform
composer 1 -d --working-dir
dotnet 1 -c --configuration -f --framework -o --output -r --runtime -v --verbosity --project --filter --logger
        -p --source -n --name --version
    *nested tool nuget sln new add list ef
make gmake 1 -C -f -I -j -l -o -W --directory --file --makefile --jobs --load-average --include-dir
just 1 -f --justfile -d --working-directory --set --shell
task 1 -t --taskfile -d --dir -C --concurrency -o --output
rake 1 -f --rakefile -C --directory -I -r --require -j --jobs
ninja 1 -C -f -j -k -l -d -t
cmake 0 -S -B -G -T -A -C -P -E --target --config -t -j --parallel --install-dir --preset --prefix
bazel 1 --config -c --compilation_mode --jobs --test_filter --output_base --test_output --define
gradle 1 -p --project-dir -b --build-file -c --settings-file --tests -P -D -I --init-script --max-workers
gradlew 1 -p --project-dir --tests -P -D --max-workers
mvn 1 -f --file -pl --projects -P --activate-profiles -D --define -s --settings -T --threads -rf
mvnw 1 -f --file -pl --projects -P -D -s -T
ant 1 -f -file -buildfile -D -logger -lib
mix 1 --only --exclude --include --seed --max-failures
nox 0 -s --session --sessions -k --keywords -p --python -f --noxfile -e -t --tags
tox 1 apart -e -c --conf --workdir --root -p --parallel -x --override
pytest 0 -k -m -n --numprocesses -p -c -o --rootdir --maxfail --tb --cov --cov-report --cov-config --junitxml
        --timeout --durations -W --ignore --deselect --log-level --log-cli-level --color --confcutdir --dist
        --basetemp --override-ini --import-mode --hypothesis-seed --hypothesis-profile --randomly-seed
        --capture --show-capture --count --reruns --html --durations-min
ruff 1 --config --select --ignore --extend-select --line-length --target-version --output-format --exclude
        --per-file-ignores -o --output-file --cache-dir --stdin-filename
mypy 0 --config-file -p --package -m --module --python-version --python-executable --cache-dir -c --exclude
        --platform --follow-imports --disable-error-code --enable-error-code
black 0 -l --line-length -t --target-version --include --exclude --config --extend-exclude --workers
eslint 0 -c --config --ext --rule --plugin --parser --format -f -o --output-file --max-warnings --ignore-path
        --cache-location --env --global --ignore-pattern
prettier 0 --config --ignore-path --parser --plugin --tab-width --print-width --log-level
tsc 0 apart -p --project --outDir --target --module --lib --rootDir
jest 0 -c --config -t --testNamePattern --testPathPattern --maxWorkers -w --reporters --rootDir
vitest 1 -c --config -t --testNamePattern --root -r --reporter --project --shard
playwright 1 -c --config -g --grep --project --workers -j --reporter
golangci-lint 1 -c --config -D --disable -E --enable --timeout -j --concurrency --out-format
pre-commit 1 -c --config --files --from-ref --to-ref --hook-stage
alembic 1 -c --config -n --name -x -m --message
django-admin 1 --settings --pythonpath
manage.py 1 --settings --pythonpath --database
flask 1 -A --app -e --env-file -h --host -p --port
    *nested db
uvicorn 0 --host --port --workers --reload-dir --log-level --env-file --app-dir --uds --log-config
gunicorn 0 -b --bind -w --workers -k --worker-class -t --timeout -c --config --log-level -n --name
systemctl 1 -n --lines -o --output -t --type --state -p --property -H --host -s --signal
journalctl 0 -u --unit -n --lines -S --since -U --until -o --output -p --priority -t --identifier -b
supervisorctl 1 -c --configuration -s --serverurl -u --username -p --password
tmux 1 -t -s -n -c -F -L -S -f
python pypy 0 -c -W -X --check-hash-based-pycs
    *modules -m
node 0 -e --eval -p --print -r --require --import --loader --max-old-space-size --env-file --test-name-pattern
deno 1 --config -c --import-map --lock --location --seed
    *nested task
ruby 0 -e -I -r -C -E -x
perl 0 apart -e -E -I -M -m -F -x
php 1 -r -f -d -c -S -t -z
    *nested artisan
java 0 apart -jar -cp -classpath --class-path -p --module-path -m --module
javac 0 apart -d -cp -classpath -sourcepath --release -source -target
tar 0 -f --file -C --directory -T --files-from -X --exclude-from --exclude --strip-components --transform
        --owner --group --mode -b --blocking-factor -H --format -I --use-compress-program
zip 0 apart -x -i -b -P -n -t -tt
unzip 0 -d -x -P
gzip 0 -S --suffix
7z 1 apart -o -p -m -x
curl 0 -H --header -d --data --data-raw --data-binary --data-urlencode --data-ascii --json -o --output -u
        --user -A --user-agent -e --referer -b --cookie -c --cookie-jar -F --form --form-string -T
        --upload-file -m --max-time --connect-timeout -w --write-out -x --proxy -K --config --cacert --cert -E
        --key --resolve --connect-to -r --range --retry --retry-delay --retry-max-time --limit-rate -X
        --request -D --dump-header -Y -y --speed-limit --speed-time -z --time-cond --interface --unix-socket
        --max-redirs --max-filesize --url --ciphers --proto --output-dir --oauth2-bearer --aws-sigv4 -t
        --telnet-option -C --continue-at --capath --pass --socks5 --noproxy -P --ftp-port -Q --quote --trace
        --trace-ascii --stderr --dns-servers --tls-max --keepalive-time
wget 0 -O --output-document -o --output-file -P --directory-prefix --header --user-agent -U --post-data
        --post-file --user --password -t --tries -T --timeout --limit-rate -i --input-file -A --accept -R
        --reject -D --domains -l --level -e --execute --method --body-data -Q --quota -w --wait --referer -B
        --base --ca-certificate --load-cookies --save-cookies -a --append-output --cut-dirs -I -X
http 0 -a --auth -A --auth-type -o --output --session --timeout --verify --cert -p --print --proxy -s
ssh 0 -p -i -o -l -L -R -D -F -J -b -c -e -E -I -m -O -Q -S -W -w -B
scp 0 -P -i -o -l -F -J -c -S -D -X
rsync 0 -e --rsh --exclude --include --exclude-from --include-from --files-from -f --filter --bwlimit
        --rsync-path --chmod --chown --max-size --min-size --log-file --partial-dir -T --temp-dir -B
        --out-format --compare-dest --link-dest --timeout --port --password-file --backup-dir --suffix
psql 0 -h --host -p --port -U --username -d --dbname -c --command -f --file -v --set -o --output -P --pset -F
        -R -L --log-file
mysql 0 -h --host -P --port -u --user -D --database -e --execute -p --password -S --socket
pg_dump 0 -h --host -p --port -U --username -d --dbname -f --file -F --format -t --table -n --schema -j
sqlite3 0 apart -cmd -init -separator -nullvalue -newline -vfs
redis-cli 1 -h -p -a -n -u -s --user --pass -i -r
jq 0 -f --from-file --indent -L --arg --argjson --slurpfile --rawfile
yq 0 -o --output-format -p --input-format --indent -I
grep egrep fgrep 0 -e --regexp -f --file -m --max-count -A --after-context -B --before-context -C --context
        --include --exclude --exclude-dir --color -d -D --label
rg ag 0 -e --regexp -f --file -m --max-count -A --after-context -B --before-context -C --context --include
        --exclude --exclude-dir --color -d -D --label -g --glob -t --type -T --type-not -j --threads -M
        --max-columns --sort -r --replace --iglob --max-depth --max-filesize --colors --engine --pre -E
        --encoding
sed 0 -e --expression -f --file -l --line-length
awk gawk 0 -F -v -f --field-separator --assign --file
find 0 apart -name -iname -path -ipath -type -maxdepth -mindepth -mtime -mmin -newer -size -perm -user -group
        -regex -iregex -exec -execdir -ok -printf -fprintf -cmin -ctime -atime -amin -wholename -lname -links
        -inum -samefile -fstype
fd 0 -e --extension -t --type -d --max-depth -E --exclude -x --exec -X --exec-batch --min-depth -c --color -j
        --threads -S --size --base-directory -o --owner
head 0 -n --lines -c --bytes
tail 0 -n --lines -c --bytes -s --sleep-interval --pid
sort 0 -k --key -t --field-separator -o --output -S --buffer-size -T --temporary-directory --parallel
cut 0 -d --delimiter -f --fields -c --characters -b --bytes --output-delimiter
uniq 0 -f --skip-fields -s --skip-chars -w --check-chars
wc 0 --files0-from --total
tee 0 --output-error
diff 0 -U --unified -C --context -x --exclude -I --ignore-matching-lines --label -L -X --width -W
patch 0 -p --strip -i --input -d --directory -o --output -r --reject-file -F --fuzz -B -Y
ls 0 -I --ignore -w --width -T --tabsize --color --sort --time --time-style --hide --block-size
cp 0 -t --target-directory -S --suffix --backup
mv ln 0 -t --target-directory -S --suffix
mkdir 0 -m --mode -Z
chmod 0 --reference
chown 0 --reference --from
touch 0 -t -d --date -r --reference
du 0 -d --max-depth -B --block-size --exclude -t --threshold -X
df 0 -B --block-size -t --type -x --exclude-type
ps 0 apart -p --pid -u --user -o --format -C -t --sort -g -U -G
kill 0 -s --signal -n
pkill 0 -u --euid -P --parent -s --signal -t --terminal -G -U -g
pgrep 0 -u --euid -P --parent -t --terminal -d --delimiter -G -U -g
lsof 0 apart -i -p -u -c -d +D
date 0 -d --date -f --file -r --reference -I --rfc-3339
less 0 -p -o -O -k -P -t -x -b -h -j -y -z
bat 0 -l --language -r --line-range --theme --style --paging -H --color
printf 0 -v
test [ [[ 0 apart
set 0 -o +o
read 0 -p -t -n -N -d -u -a -i
basename 0 -s --suffix
realpath 0 --relative-to --relative-base
stat 0 -c --format -f --printf
file 0 -m --magic-file -f --files-from -F --separator
tree 0 apart -L -P -I -o --filelimit --charset
open 0 -a -b
man 0 -M -S
base64 0 -w --wrap -i -o
openssl 1 apart -in -out -inform -outform -key -cert -CAfile -passin -passout -subj -days -newkey -connect
        -servername -config
nc 0 -p -w -s -i -q -X -x
dig 0 -t -p -x -f -b -k -y
sh bash zsh fish dash 0 -c -o -O --rcfile --init-file
ffmpeg 0 apart -i -c -c:v -c:a -f -ss -t -to -r -s -vf -af -b -b:v -b:a -crf -preset -map -filter_complex -ar
        -ac -pix_fmt -vframes -frames:v -q:v -threads -loglevel -metadata
gcc g++ 0 apart -o -I -L -l -D -U -std -include -isystem -x -T -MF -MT -march -mtune
clang 0 apart -o -I -L -l -D -U -std -include -isystem -x -target -march
runlore 2 --home --url --token-file --limit --scope --kind --key --value --reason --session --run
bunx sbt 1
service tr rm sleep cat echo cd pushd pwd which type export source . unset dirname 0
"""


def _read_forms(table: str) -> Iterator[tuple[str, Form]]:
    for head, inner in table_rows(table):
        words = head.split()
        at = next(place for place, word in enumerate(words) if word.isdigit())
        below = {name: frozenset(flags) for name, *flags in map(str.split, inner)}
        form = Form(
            subcommands=int(words[at]),
            values=frozenset(words[at + 1 :]) - {"apart"},
            joined="apart" not in words,
            **{name: below.pop(f"*{name}", frozenset()) for name in ("nested", "runs", "modules")},
            values_of=below,
        )
        yield from ((name, form) for name in words[:at])


FORMS: Mapping[str, Form] = dict(_read_forms(_TABLE))
