"""What `deploy/` holds: rules and a dashboard for metrics that exist, and a composition of what is there."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from runlore.api.metrics import REQUESTS, SECONDS, Held, families
from runlore.config.settings import read_settings

pytestmark = pytest.mark.req("OPS-8")

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def known_metrics() -> dict[str, set[str]]:
    """The series that a scrape has, with their labels."""
    found = {f"{REQUESTS[0]}_total": {*REQUESTS[2]}}
    for end in ("bucket", "count", "sum"):
        found[f"{SECONDS[0]}_{end}"] = {*SECONDS[2], *(["le"] if end == "bucket" else [])}
    for family in families(Held()):
        for sample in family.samples:
            found[sample.name] = {*sample.labels}
    return found


def expressions() -> dict[str, str]:
    """Every expression of the rules and of the dashboard, by where it stands."""
    rules = yaml.safe_load((DEPLOY / "runlore-rules.yml").read_text())["groups"]
    found = {rule["alert"]: str(rule["expr"]) for group in rules for rule in group["rules"]}
    for panel in json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            found[f"{panel['title']} {target['refId']}"] = target["expr"]
    return found


def test_rules_and_dashboard_ask_for_metrics_and_labels_that_exist() -> None:
    known = known_metrics()
    for where, expression in expressions().items():
        for name, selector in re.findall(r"\b(runlore_\w+)(?:\{([^}]*)\})?", expression):
            assert name in known, f"{where}: {name}"
            asked = {*re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector)}
            assert asked <= known[name], f"{where}: {name} has no {asked - known[name]}"
        named = {each for group in re.findall(r"by \(([^)]*)\)", expression) for each in group.split(", ")}
        told: set[str] = set().union({"instance", "job"}, *(known[n] for n in known if n in expression))
        assert named <= told, f"{where}: {named - told}"
        assert expression.count("(") == expression.count(")"), where


def test_every_alert_says_what_to_do_and_stands_in_the_docs() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    for group in yaml.safe_load((DEPLOY / "runlore-rules.yml").read_text())["groups"]:
        for rule in group["rules"]:
            assert {*rule} == {"alert", "expr", "for", "labels", "annotations"}
            assert {*rule["annotations"]} == {"summary", "what_to_do"}
            assert f"`{rule['alert']}`" in page


def test_the_composition_names_what_is_there_and_its_daemon_reads_its_settings(tmp_path: Path) -> None:
    composed: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services, page = composed["services"], (ROOT / "docs" / "operations.md").read_text()
    for service in services.values():
        assert {*service.get("secrets", ())} <= {*composed["secrets"]}
        assert {*service.get("depends_on", ())} <= {*services}
        for volume in service["volumes"]:
            place = volume.partition(":")[0]
            assert (DEPLOY / place).is_file() if place.startswith("./") else place in composed["volumes"]
    for secret in composed["secrets"].values():
        assert secret["file"].removeprefix("./") in page
    assert (ROOT / services["runlore"]["build"]["dockerfile"]).is_file()
    shutil.copy(DEPLOY / "config.toml", tmp_path / "config.toml")
    server = read_settings(home=str(tmp_path), environment={}).server
    scraped = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"][0]
    assert scraped["static_configs"][0]["targets"] == [f"{server.allowed_hosts[0]}:{server.port}"]
    assert server.tls_certificate == scraped["tls_config"]["ca_file"]
