"""Whether sentences about four public packages are flagged when they stop being true, on the sources of
several of their releases, years apart.

The sentences were written by hand from the first release of each. Beside each stands whether it still holds
(T) or not (F) in the later ones, by our own reading. What is looked for was chosen on aiohttp and Django. pip
was looked at before that choice and after, HTTPie after it alone.

The sources are looked for in `packages` of the folder with the data sets: what `pip download --no-deps
--no-binary :all: aiohttp==3.0.0` and so on gives, unpacked.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.measure import data_folder, print_table
from runlore.daemon.folder_staleness import FolderView
from runlore.domain.worth.staleness import find_anchors, find_gone, find_seen

TITLE = "learnings about a repository, on releases of four public packages: what was flagged"


@dataclass(frozen=True, kw_only=True)
class Package:
    """Releases, the earliest first, and what was said of that one."""

    versions: tuple[str, ...]
    said: tuple[tuple[str, str], ...]


def main() -> None:
    rows = []
    for name, package in PACKAGES.items():
        counts = [follow(package.versions, text, holds) for text, holds in package.said]
        told = [sum(column) for column in zip(*counts, strict=True)]
        rows.append((name, str(len(package.said)), *map(str, told)))
    columns = (
        "package",
        "sentences",
        "flagged, no longer so",
        "flagged, still so",
        "no longer so, unflagged",
    )
    print_table((*columns, "still so, unflagged"), rows)


def follow(versions: tuple[str, ...], text: str, holds: str) -> tuple[int, ...]:
    """In how many later releases the sentence was flagged rightly, wrongly, missed, left alone rightly."""
    counts = {(True, False): 0, (True, True): 0, (False, False): 0, (False, True): 0}
    anchors = find_anchors(text)
    seen: set[str] = set()
    for number, version in enumerate(versions):
        look = FolderView(str(data_folder("packages", version))).look
        if number:
            is_flagged = bool(find_gone(anchors, seen, look))
            counts[is_flagged, holds[number - 1] == "T"] += 1
        seen |= set(find_seen(anchors, look))
    return counts[True, False], counts[True, True], counts[False, False], counts[False, True]


PACKAGES: Mapping[str, Package] = {
    "aiohttp": Package(
        versions=("aiohttp-3.0.0", "aiohttp-3.7.4", "aiohttp-3.9.5", "aiohttp-3.11.10"),
        said=(
            ("Run `make test` before pushing", "TTT"),
            ("Sort imports with make isort", "FFF"),
            ("make flake must be green before a pull request", "FFF"),
            ("Coverage comes from `make cov-dev`", "FFF"),
            ("Check the spelling of the docs with `make doc-spelling`", "TTT"),
            ("Change notes are checked by tools/check_changes.py", "FFF"),
            ("Wheels are built with tools/build-wheels.sh", "FFF"),
            ("We test with pytest 3.4, pinned in requirements/ci.txt", "FFF"),
            ("We are on cython 0.27", "FFF"),
            ("The demos are in demos/chat and demos/polls", "FFF"),
            ("The websocket example is examples/web_ws.py", "TTT"),
            ("Legacy examples are under examples/legacy", "TFF"),
            ("Install what development needs with pip install -r requirements/dev.txt", "FTT"),
            ("Frozen lists are implemented in aiohttp/_frozenlist.pyx", "TFF"),
            ("`make doc` builds the docs", "TTT"),
            ("aiohttp/signals.py has the Signal class", "TFF"),
            ("Travis runs the tests, see .travis.yml", "FFF"),
            ("examples/fake_server.py shows how to mock DNS", "TTT"),
            ("tox runs the coverage, see tox.ini", "FFF"),
            ("make vtest shows more output", "TTT"),
            ("The HTTP parser is vendored from vendor/http-parser", "TFF"),
            ("aiohttp supports Python 3.5.3 and up", "FFF"),
            ("multidict is pinned at multidict==4.1.0", "FFF"),
        ),
    ),
    "Django": Package(
        versions=("Django-1.11.29", "Django-2.2.28", "Django-3.2.25", "Django-4.2.16", "Django-5.1.4"),
        said=(
            ("Python 2 compatibility helpers live in django/utils/six.py.", "TFFF"),
            ("The decorator for caches is in `django/utils/lru_cache.py`", "TFFF"),
            ("URL resolving moved to django/urls; django/core/urlresolvers.py only re-exports it", "FFFF"),
            ("Run the suite with tests/runtests.py --parallel", "TTTT"),
            ("Before a pull request run `tests/runtests.py --selenium=chrome`", "TTTT"),
            ("JavaScript tests run by `npm test`, which calls grunt", "TTTT"),
            ("The JS tests are in js_tests/tests.html and use the copy of qunit in js_tests/qunit", "TFFF"),
            ("Test requirements for Python 2 are in tests/requirements/py2.txt", "FFFF"),
            ("Install the test requirements with pip install -r tests/requirements/py3.txt", "TTTT"),
            ("RPMs are built with scripts/rpm-install.sh", "TTTF"),
            ("Translations are updated with scripts/manage_translations.py", "TTTT"),
            ("extras/Makefile has targets for sdist and wheels", "TTTF"),
            ("Bash completion is in extras/django_bash_completion", "TTTT"),
            ("The PostgreSQL backend is django/db/backends/postgresql_psycopg2 under its old name", "TFFF"),
            ("setup.py holds the list of supported Pythons", "TFFF"),
            ("eslint 4 checks the JavaScript, see package.json", "TFFF"),
            ("Imports are cut at 79 characters, under isort in setup.cfg", "TTFF"),
            ("Dates without time zones use django/utils/datetime_safe.py", "TTTF"),
            ("Base 36 and 62 numbers: django/utils/baseconv.py", "TTTF"),
            ("Docs are built with make html in docs/", "TTTT"),
            ("Python 2.7 is supported, so write code for both", "FFFF"),
            ("Memcached is tested with python-memcached", "TTFF"),
            ("docs/internals/git.txt explains the branches", "TTTT"),
        ),
    ),
    "pip": Package(
        versions=("pip-10.0.1", "pip-20.3.4", "pip-22.3.1", "pip-24.2"),
        said=(
            ("Version control backends live in src/pip/_internal/vcs", "TTT"),
            ("Command line options are all in src/pip/_internal/cmdoptions.py", "FFF"),
            ("Downloads go through src/pip/_internal/download.py", "FFF"),
            ("The package finder is src/pip/_internal/index.py", "FFF"),
            ("Compatibility tags are computed in `src/pip/_internal/pep425tags.py`", "FFF"),
            ("Wheels are installed by src/pip/_internal/wheel.py", "FFF"),
            ("Vendored libraries are pinned in src/pip/_vendor/vendor.txt", "TTT"),
            ("We vendor html5lib 1.0", "FFF"),
            ("requests is vendored at version 2.18.4", "FFF"),
            ("msgpack comes as msgpack-python==0.5.6", "FFF"),
            ("Build isolation is in src/pip/_internal/build_env.py", "TTT"),
            ("Settings are read by src/pip/_internal/configuration.py, from pip.conf", "TTT"),
            ("Release notes are in NEWS.rst, made from fragments", "TTT"),
            ("The user guide is docs/user_guide.rst", "FFF"),
            ("Python 2 needs ipaddress, see vendor.txt", "TFF"),
            ("The resolver is src/pip/_internal/resolve.py", "FFF"),
            ("docs/make.bat builds the docs on Windows", "FFF"),
            ("Authors are listed in AUTHORS.txt", "TTT"),
            ("Packaging is driven by setup.py", "TTF"),
            ("The cookbook is docs/cookbook.rst, next to docs/quickstart.rst", "FFF"),
        ),
    ),
    "httpie": Package(
        versions=("httpie-1.0.0", "httpie-2.3.0", "httpie-3.2.4"),
        said=(
            ("Arguments are defined in httpie/cli.py", "FF"),
            ("httpie/input.py parses key-value items", "FF"),
            ("Streams are in httpie/output/streams.py", "TT"),
            ("Release notes are in CHANGELOG.rst", "TF"),
            ("The manual is README.rst, one long page", "TF"),
            ("Sessions are stored by httpie/sessions.py as JSON", "TT"),
            ("We support Python 2.7", "FF"),
            ("Authors: AUTHORS.rst", "TF"),
            ("Needs requests 2.18", "FF"),
            ("Plugins register in httpie/plugins/manager.py", "TT"),
            ("Wheels are universal, see setup.cfg", "FF"),
            ("Colors come from Pygments, chosen in httpie/output/processing.py", "TT"),
            ("`httpie/compat.py` has what differs between Python 2 and 3", "FF"),
            ("Downloads resume in httpie/downloads.py", "TT"),
        ),
    ),
}
