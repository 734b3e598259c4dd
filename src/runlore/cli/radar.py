"""`runlore memory radar`: findings, their adoption, and the log of both."""

from typing import TYPE_CHECKING, Annotated, cast

import orjson
import typer

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.options import read_bytes
from runlore.cli.tables import record_tables
from runlore.cli.typer_commands import group, option
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import JsonValue
from runlore.domain.scope import Scope
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from runlore.domain.records import radar as domain_radar
else:
    domain_radar = LazyModule("runlore.domain.records.radar")

radar = group("Findings about other projects, and what was adopted of them.")
_FILE_MIB_MAX = 64


@dataclass(frozen=True, kw_only=True)
class FindingOptions:
    """One finding, field by field."""

    summary: Annotated[str | None, option("--summary TEXT", "What was found.")] = None
    repo_slug: Annotated[str | None, option("--repo-slug SLUG", "The repository, such as owner/name.")] = None
    source_handle: Annotated[str | None, option("--source-handle NAME", "Who or what told of it.")] = None
    source_url: Annotated[str | None, option("--source-url URL", "Where it was found.")] = None
    topic_tags: Annotated[tuple[str, ...], option("--topic-tag --tag TAG", "A topic. Repeatable.")] = ()
    confidence: options.ConfidenceOption = limits.CONFIDENCE_DEFAULT
    evidence_refs: Annotated[
        tuple[str, ...], option("--evidence-ref URL", "What supports it; its URL if none. Repeatable.")
    ] = ()

    def read(self) -> "domain_radar.Finding":
        given = vars(self) | {"topic_tags": list(self.topic_tags), "evidence_refs": list(self.evidence_refs)}
        return domain_radar.finding_from_plain(given)


@command(radar, "add")
def add(
    call: Invocation,
    finding: FindingOptions,
    file: Annotated[
        str | None, option("--file PATH", "A JSON file with one finding or a list; - is stdin.")
    ] = None,
    scope: options.ScopeOption = "workspace",
    idempotency_key: options.KeyOption = None,
) -> None:
    """Take findings in: an episode for the scan, and a candidate each."""
    if file is not None and finding != FindingOptions():
        raise Invalid(
            "a file of findings and the fields of one were given",
            code="radar.file",
            hint="give --file alone, or the fields without it",
        )
    findings = (finding.read(),) if file is None else _findings_of(file)
    request = ops.Findings(findings=findings, scope=Scope.parse(scope), idempotency_key=idempotency_key)
    call.ask(
        lambda operations: operations.radar_add(request),
        lambda records: record_tables.show_records(records, None, empty="Nothing was found."),
    )


@command(radar, "adopt")
def adopt(
    call: Invocation,
    target: options.DecisionOptions,
    *,
    workflow: Annotated[
        str | None, option("--workflow NAME", "The workflow; named after the repository if left out.")
    ] = None,
    summary: Annotated[
        str | None, option("--summary TEXT", "The procedure; the finding's own text if left out.")
    ] = None,
    accept_untrusted: options.AcceptOption = False,
) -> None:
    """Make a procedure of a finding."""
    finding = target.read()
    request = ops.AdoptRequest(
        finding_id=finding.record_id,
        workflow=workflow,
        summary=summary,
        reason=finding.reason,
        expected_revision=finding.expected_revision,
        accept_untrusted=accept_untrusted,
        idempotency_key=finding.idempotency_key,
    )
    call.ask(lambda operations: operations.radar_adopt(request), record_tables.show_adoption)


@command(radar, "undo")
@asks(record_tables.show_adoption)
def radar_undo(target: options.DecisionOptions) -> None:
    """Roll back the procedure that a finding became."""


@command(radar, "log")
@asks(lambda answer: typer.echo(answer.markdown, nl=False))
def radar_log() -> None:
    """Print the adoption registry and the promotion log as Markdown."""


def _findings_of(path: str) -> "tuple[domain_radar.Finding, ...]":
    text = read_bytes(path, mib_max=_FILE_MIB_MAX, too_large="split it", code="radar.file")
    try:
        plain = cast("JsonValue", orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise Invalid(
            f"{path} is not JSON: {error}", code="radar.file", hint="give one finding or a list"
        ) from None
    listed = plain if isinstance(plain, list) else [plain]
    return tuple(
        domain_radar.finding_from_plain(each, name=f"finding {n}") for n, each in enumerate(listed, start=1)
    )
