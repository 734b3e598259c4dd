"""Whether sentences about nine public packages are flagged when they stop being true, on the sources of
several of their releases, years apart.

The sentences were written by hand from the first release of each. Beside each stands whether it still holds
(T) or not (F) in the later ones, by our own reading. What is looked for was chosen on aiohttp, Django, celery
and notebook, by the kinds of sentences that were missed. pip and HTTPie were looked at now and then. scrapy,
urllib3 and eslint are set aside: written before the rules were read, and only their counts were looked at.

The sources are looked for in `packages` of the folder with the data sets: what `pip download --no-deps
--no-binary :all: aiohttp==3.0.0` and so on gives, unpacked; eslint comes from npm.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from bench.measure import data_folder, print_table
from runlore.daemon.folder_staleness import FolderView
from runlore.domain.worth.staleness import find_anchors, find_gone, find_seen

TITLE = "learnings about a repository, on releases of nine public packages: what was flagged"


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
    print("\nsentences that the packages' guides kept from one release to the next, and mostly so still\n")
    kept = [(name, *map(str, follow_guides(package.versions))) for name, package in PACKAGES.items()]
    print_table(("package", "kept", "naming something there", "flagged"), kept)


def follow_guides(versions: tuple[str, ...]) -> tuple[int, int, int]:
    """Of how many sentences of guides that stand in the next release too: those that name what is in the
    first, and those that would be flagged in the next."""
    kept = naming = flagged = 0
    for before, after in pairwise(versions):
        looks = [FolderView(str(data_folder("packages", each))).look for each in (before, after)]
        for text in sorted(sentences_of(before) & sentences_of(after)):
            anchors = find_anchors(text)
            seen = find_seen(anchors, looks[0])
            kept, naming = kept + 1, naming + bool(seen)
            flagged += bool(seen and find_gone(anchors, seen, looks[1]))
    return kept, naming, flagged


def sentences_of(version: str) -> frozenset[str]:
    """What the guides of a release say: not its news."""
    top = data_folder("packages", version)
    found: set[str] = set()
    for path in top.rglob("*"):
        name = str(path.relative_to(top)).lower()
        if path.suffix in (".rst", ".md", ".txt") and GUIDE.search(name) and not NEWS.search(name):
            text = path.read_text(encoding="utf-8", errors="replace").replace("``", "`")
            paragraphs = (" ".join(each.split()) for each in re.split(r"\n\s*\n", text))
            found |= {each for told in paragraphs for each in re.split(r"(?<=[.;!?:])\s+", told)}
    return frozenset(each for each in found if 20 < len(each) < 400)


GUIDE = re.compile(r"contrib|readme|install|develop|internals|unit-tests|hacking|guide|architecture")
NEWS = re.compile(r"change|news|release|whatsnew|history")


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
    "celery": Package(
        versions=("celery-4.2.0", "celery-4.4.7", "celery-5.2.7", "celery-5.4.0"),
        said=(
            ("Unit tests live under t/unit, integration tests under t/integration", "TTT"),
            ("Before releasing, update the Changelog file at the top level", "FFF"),
            ("Python 2 helpers come from celery/five.py, use them instead of six", "TFF"),
            ("The async backend code is celery/backends/async.py", "FFF"),
            ("The AMQP result backend (celery/backends/amqp.py) is deprecated, use rpc", "TFF"),
            ("Riak support: celery/backends/riak.py and requirements/extras/riak.txt", "TFF"),
            (
                "Install test dependencies with `pip install -r requirements/test.txt -r"
                " requirements/test-ci-default.txt`",
                "TTT",
            ),
            ("pytest must stay below 3.3, see requirements/test.txt", "FFF"),
            ("The old task base class is kept in celery/task/base.py for compatibility", "TFF"),
            ("celery worker's command is implemented in `celery/bin/worker.py`", "TTT"),
            ("The http gateway example is in examples/celery_http_gateway", "TTT"),
            ("systemd units are in extra/systemd/celery.service", "TTT"),
            ("We still support Python 2.7 and 3.4", "FFF"),
            ("flake8 settings and their ignored codes are in setup.cfg", "TTT"),
            ("pydocstyle is pinned to 1.1.1", "FFF"),
            ("Docs are built with Sphinx 1.7.1", "FFF"),
            ("kombu 4.2 or newer is needed, but below 5", "FFF"),
            (
                "bash completion is extra/bash-completion/celery.bash, zsh in"
                " extra/zsh-completion/celery.zsh",
                "TTT",
            ),
            ("The spelling dictionary for docs is docs/spelling_wordlist.txt", "TTT"),
            ("`make -C docs html` builds the documentation", "TTT"),
            ("The windows batch file docs/make.bat does the same as the Makefile", "TTT"),
            ("Task registration is in celery/app/registry.py (TaskRegistry)", "TTT"),
            ("bumpversion does version bumps, it's in requirements/pkgutils.txt", "TTT"),
            ("billiard is held below 3.6", "FFF"),
            ("The upgrade command for settings is celery/bin/upgrade.py", "TTT"),
            ("Plain functions like maybe_list are in celery/utils/functional.py", "TTT"),
            ("test classes are called test_Something because setup.cfg sets python_classes = test_*", "TFF"),
            ("ConsumerTimer and friends: `celery/utils/timer2.py`", "TTT"),
            ("Use `case` for test helpers, version 1.3.1 or later", "TFF"),
            ("Samples for supervisord are in extra/supervisord", "TTT"),
        ),
    ),
    "notebook": Package(
        versions=("notebook-5.4.1", "notebook-6.5.7", "notebook-7.2.2"),
        said=(
            ("After changing JavaScript run `npm run build`", "TT"),
            ("While developing keep `npm run build:watch` running", "TF"),
            ("Client side dependencies are listed in bower.json; `npm run bower` fetches them", "FF"),
            ("jQuery is at 2.2, from bower", "FF"),
            ("CodeMirror 5.27 is what the editor uses", "FF"),
            ("less ~2 compiles our styles", "TF"),
            ("The server application is notebook/notebookapp.py", "TF"),
            ("Run the JS tests with python -m notebook.jstest", "TF"),
            ("PhantomJS and CasperJS are needed for notebook/tests/notebook", "TF"),
            ("Install the docs' requirements: pip install -r docs/doc-requirements.txt", "TF"),
            ("A conda environment for docs is in docs/environment.yml", "TF"),
            ("Handlers of the REST API live in notebook/services", "TF"),
            ("Check links with make linkcheck in docs", "TF"),
            ("setupbase.py has the build commands CompileCSS and CompileJS", "FF"),
            ("The secure notebook script: tools/secure_notebook.py", "TF"),
            ("We support Python 2.7 as well as 3", "FF"),
            ("tornado>=4 is required", "FF"),
            ("Version info sits in notebook/_version.py", "TT"),
            ("CONTRIBUTING.rst tells how to set up", "TF"),
            ("the licence is in COPYING.md", "FF"),
            ("nosetests runs the Python tests, its warning filters are in setup.cfg", "FF"),
            ("Templates (tree.html, notebook.html, login.html) are under notebook/templates", "TF"),
            ("Translations: see notebook/i18n and its README", "TF"),
            ("Rich extensions are enabled through notebook/nbextensions.py", "TF"),
            ("docs are configured in docs/source/conf.py", "TF"),
            ("The requirejs build is configured in tools/build-main.js", "TF"),
        ),
    ),
    "scrapy": Package(
        versions=("scrapy-1.5.2", "scrapy-2.0.1", "scrapy-2.5.1", "scrapy-2.11.2"),
        said=(
            ("scrapy/VERSION holds the version number", "TTT"),
            ("Deprecated modules such as scrapy/contrib stay until 2.0", "FFF"),
            ("The old spider manager shim is scrapy/spidermanager.py", "FFF"),
            ("Release notes go into docs/news.rst", "TTT"),
            ("INSTALL and AUTHORS are plain files at the root", "TTF"),
            ("Tests for Python 3 skip what tests/py3-ignores.txt lists", "FFF"),
            ("pip install -r tests/requirements-py3.txt before running tests on Python 3", "TTF"),
            ("The telnet console is an extension: scrapy/extensions/telnet.py", "TTT"),
            ("Mail is sent with scrapy/mail.py", "TTT"),
            ("six is required, at least 1.5.2", "FFF"),
            ("We support Python 2.7 and 3.4+", "FFF"),
            ("Twisted 13.1 is the oldest we allow", "FFF"),
            ("`make -C docs htmlview` opens the built docs", "TTT"),
            ("docs/Makefile has a linkcheck target", "TTT"),
            ("Link extractors live in scrapy/linkextractors, sgml.py is deprecated", "TFF"),
            ("to_native_str is defined in scrapy/utils/python.py", "TTF"),
            ("The multipart helpers in scrapy/utils/multipart.py are unused", "TFF"),
            ("Coverage is reported with extras/coverage-report.sh", "TTT"),
            ("Default settings: scrapy/settings/default_settings.py", "TTT"),
            ("The item loaders are implemented in scrapy/loader/processors.py", "TTT"),
            ("The man page is extras/scrapy.1", "TTT"),
            ("Requests are serialised to dicts by scrapy/utils/reqser.py", "TTF"),
            ("setup.cfg marks wheels as universal", "TTT"),
            ("The proxy tests use tests/mockserver.py and tests/keys", "TTT"),
            ("setup.py reads the list of dependencies, there is no pyproject.toml", "TTT"),
            ("Squeues moved: scrapy/squeue.py only warns", "FFF"),
            ("Versions of dependencies for CI are in tests/constraints.txt", "TFF"),
            ("PyDispatcher needs 2.0.5", "TTT"),
            ("Monkey patches at import are in scrapy/_monkeypatches.py", "TFF"),
        ),
    ),
    "urllib3": Package(
        versions=("urllib3-1.22", "urllib3-1.25.11", "urllib3-1.26.18", "urllib3-2.2.3"),
        said=(
            ("The code is right in urllib3/, tests are in test/", "FFF"),
            ("make test runs the whole suite", "FFF"),
            ("App Engine tests: `make test-gae`, with GAE_PYTHONPATH set", "FFF"),
            ("make test-all runs every environment through tox", "FFF"),
            ("Cut a release with make release", "FFF"),
            ("`make docs` needs tox", "FFF"),
            ("Old dependencies are found by make piprot", "FFF"),
            ("six is vendored at urllib3/packages/six.py", "FFF"),
            ("OrderedDict for Python 2.6 is in urllib3/packages/ordered_dict.py", "FFF"),
            ("pytest is pinned to 3.1.0 in dev-requirements.txt", "FFF"),
            ("tornado==4.2.1 serves the dummy server", "FFF"),
            ("We use nose 1.3.7 to run tests", "FFF"),
            ("mock is at version 1.3", "FFF"),
            ("Certificates for tests are under dummyserver/certs", "TTT"),
            ("The benchmark script is test/benchmark.py", "TTF"),
            ("CHANGES.rst gets a line for each change", "TTT"),
            ("Contributors add themselves to CONTRIBUTORS.txt", "TFF"),
            ("NTLM is supported by urllib3/contrib/ntlmpool.py", "FFF"),
            ("Waiting on sockets goes through urllib3/util/selectors.py", "FFF"),
            ("Python 2.6 still works", "FFF"),
            ("flake8's line length is 99, set in setup.cfg", "TTF"),
            ("Documentation requirements: docs/requirements.txt", "TTT"),
            ("The user guide is docs/user-guide.rst", "TTT"),
            ("Tests that talk to a socket are in test/with_dummyserver/test_socketlevel.py", "TTT"),
            ("The SSL extras ask for pyOpenSSL and ipaddress", "TTF"),
            ("docs/make.bat builds on Windows", "TTT"),
            ("The dummy server's proxy is dummyserver/proxy.py", "TTF"),
            ("SOCKS needs PySocks 1.5.6 or newer", "TTT"),
        ),
    ),
    "eslint": Package(
        versions=("eslint-4.19.1", "eslint-6.8.0", "eslint-8.57.1", "eslint-9.15.0"),
        said=(
            ("Tests run with npm test", "TTT"),
            ("`npm run lint` lints the project itself", "TTT"),
            ("npm run docs builds the API docs", "TFF"),
            ("Browser bundle: npm run browserify", "FFF"),
            ("Performance is measured with npm run perf", "TFF"),
            ("coverage goes to coveralls by `npm run coveralls`", "FFF"),
            ("The CLI engine is lib/cli-engine.js", "FFF"),
            ("Command line options are declared in lib/options.js", "TTT"),
            ("Formatters are one file each in lib/formatters", "FFF"),
            ("AST helpers for rules: lib/ast-utils.js", "FFF"),
            ("The rule tester is lib/testers/rule-tester.js", "FFF"),
            ("Recommended rules are switched on in conf/eslint-recommended.js", "TFF"),
            ("Default options of the CLI: conf/default-cli-options.js", "TTT"),
            ("Each rule is a file in lib/rules, for example lib/rules/no-unused-vars.js", "TTT"),
            ("Long texts of errors are in messages/ as txt templates", "TFF"),
            ("ajv is at 5", "FFF"),
            ("We use chalk 2 for colours", "TFF"),
            ("espree 3 parses the code", "FFF"),
            ("mocha 3 is the test runner", "FFF"),
            ("Node 4 and up is supported", "FFF"),
            ("lodash 4 is a dependency", "TFF"),
            ("Source tokens are kept by lib/token-store", "FFF"),
            ("Config files are loaded in lib/config/config-file.js", "FFF"),
            ("The entry point is lib/api.js", "TTT"),
            ("bin/eslint.js starts the command", "TTT"),
            ("code path analysis is under lib/code-path-analysis", "FFF"),
            ("Replaced rules are listed in conf/replacements.json", "TTT"),
            ("Changes are written to CHANGELOG.md by the release tool", "TFF"),
            ("sinon 3 is used for stubs", "FFF"),
            ("table is pinned at 4.0.2", "FFF"),
        ),
    ),
}
