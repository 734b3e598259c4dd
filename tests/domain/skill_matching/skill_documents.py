"""Skills for the tests of matching: a shelf of a few, and random ones whose words often meet."""

from hypothesis import strategies as st

from runlore.domain.skill import SkillDocument, SkillId
from runlore.domain.skill_matching import SkillMatch, best_matches

SHELF = (
    SkillDocument(
        name="docker-cleanup",
        description="Free disk space taken by unused Docker images and volumes.",
        body="Run `docker system prune` and look at the sizes again.",
        topics=("docker", "disk"),
        actions=("clean", "prune"),
    ),
    SkillDocument(
        name="release-notes",
        description="Collect what was merged since the last tag.",
        body="Read the log and group its lines.",
        topics=("release",),
        actions=("collect",),
    ),
    SkillDocument(
        name="procedure-pytest",
        description="Run the suite and read its failures.",
        body="A failing fixture shows as an error.",
        topics=("pytest",),
        actions=("test", "run"),
    ),
    SkillDocument(
        name="targets",
        description="Which targets the build file has.",
        body="make docs; make lint",
        topics=("make",),
    ),
    SkillDocument(
        name="modules",
        description="Tidy the modules of a service.",
        body="go mod tidy",
        topics=("go",),
        actions=("upgrade",),
    ),
)

_WORDS = """
    deploy deploys deployment ship release k8s kubernetes docker test tests testing verify check
    make go golang google blue button import important author authorize pull request pr github
    actions gha set up install the of and not 12 2026 v1.2.3 snake_case camelCase node.js C++ 部署 代码
    résumé ＦＵＬＬ do\u00adcker
"""
WORDS = _WORDS.split()
texts = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
triggers = st.lists(st.sampled_from(WORDS), max_size=4).map(tuple)
documents = st.builds(
    SkillDocument,
    name=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("-".join),
    description=texts,
    body=texts,
    topics=triggers,
    actions=triggers,
)
shelves = st.lists(documents, max_size=12)


def numbered(
    documents: list[SkillDocument] | tuple[SkillDocument, ...],
) -> list[tuple[SkillId, SkillDocument]]:
    """The documents with an id each."""
    return [(SkillId(f"s{number:03}"), document) for number, document in enumerate(documents)]


def matched(query: str, *documents: SkillDocument, limit: int = 5) -> tuple[SkillMatch, ...]:
    """What a query brings in from these, or from the shelf."""
    return best_matches(numbered(documents or SHELF), query, limit=limit)


def names(query: str, *documents: SkillDocument) -> list[str]:
    """The names of that."""
    return [match.name for match in matched(query, *documents)]


def skill(name: str = "some-skill", **fields: object) -> SkillDocument:
    """A document that says nothing but what the test names."""
    return SkillDocument(**{"name": name, "description": "", "body": "", **fields})  # type: ignore[arg-type]
