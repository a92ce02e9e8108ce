"""What the scanners say of a cloud assembly: cdk-nag in the report of its synth, the rules for clusters run again."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from slipway.assembly.stacks import Stack, read_artifacts, read_stacks
from slipway.assembly.synthesis import VALIDATION_REPORT
from slipway.config.problems import dotted
from slipway.review.lint.assembly import LintedCluster, lint_assembly
from slipway.review.lint.registry import RULES
from slipway.review.security.model import Acknowledgement, Security, SecurityFinding
from slipway.review.security.resources import Metadata, Place, Resources

PACKS = ("AwsSolutions", "NIST.800.53.R5", "HIPAA.Security", "PCI.DSS.321")
"""The packs of cdk-nag that app.py runs, as the report names them."""

_SAME_RULES = PACKS[1:]

_TOOLS = {**{pack: f"cdk-nag {pack}" for pack in PACKS}, "Construct Annotations": "notices of the app"}
# They are run again, which also says what they could not check; the report does not.
_CLUSTER_RULES = "slipway-cluster-rules"
_OTHER_GATES = (
    "cfn-lint, checkov and the CDK's own template validation: a plan does not run them; `make test` and `cdk synth` do."
)
# The list of NIST controls is longer than what is wrong.
_CONTROLS = re.compile(r" - \(Control IDs: .*\)")
# A notice about an environment file begins with its place: `/where/it/is/environments/default.yaml:40:15: `.
_PLACE = re.compile(r"^(?:.*/)?([^/]+\.yaml):\d+:\d+: ")


class _Declared(NamedTuple):
    """An acknowledgement as the construct metadata of the assembly has it."""

    construct: str
    rule: str
    reason: str


def read(assembly: Path) -> Security:
    """Read the findings of an assembly, and the findings that it accepts.

    Args:
        assembly: the cloud assembly.

    Raises:
        slipway.assembly.stacks.NoAssemblyError: the folder is none.
    """
    stacks = read_stacks(assembly)
    metadata = _metadata(assembly)
    resources = Resources(metadata)
    declared = tuple(_declared(metadata))
    linted = lint_assembly(assembly)
    reports = _reports(assembly)
    not_run = tuple(_not_run(reports))
    skipped = (f"{tool}: the synth of this assembly did not run it." for tool in not_run)
    findings = {
        *_cluster_findings(linted, declared, resources),
        *(finding for report in reports for finding in _reported(report, resources)),
    }
    accepted = {
        *(
            Acknowledgement(rule=one.rule, reason=one.reason, **resources.at(one.construct)._asdict())
            for one in _decisions(declared)
        ),
        *_checkov_skips(stacks),
    }
    return Security(
        findings=tuple(
            sorted(findings, key=lambda one: (one.severity, one.stack, one.resource, one.rule, one.message))
        ),
        acknowledgements=tuple(sorted(accepted, key=lambda one: (one.stack, one.resource, one.rule))),
        not_checked=tuple(dict.fromkeys((*skipped, *_not_lintable(linted), _OTHER_GATES))),
        not_run=not_run,
    )


def _reports(assembly: Path) -> list[dict[str, Any]]:
    try:
        reports: list[dict[str, Any]] = json.loads((assembly / VALIDATION_REPORT).read_text("utf-8"))["pluginReports"]
    except FileNotFoundError:
        return []
    return [report for report in reports if report["pluginName"] != _CLUSTER_RULES]


def _reported(report: dict[str, Any], resources: Resources) -> Iterator[SecurityFinding]:
    tool = _TOOLS.get(report["pluginName"], report["pluginName"])
    for violation in report["violations"]:
        for construct in violation["violatingConstructs"]:
            yield SecurityFinding(
                tool=tool,
                rule=violation["ruleName"].removeprefix("Annotation::"),
                severity="warning" if violation.get("severity") in ("warning", "info") else "error",
                message=_PLACE.sub(r"\1: ", _CONTROLS.sub("", violation["description"])),
                **resources.at(construct["constructPath"])._asdict(),
            )


def _cluster_findings(
    linted: Iterable[LintedCluster], declared: Iterable[_Declared], resources: Resources
) -> Iterator[SecurityFinding]:
    for one in linted:
        place = Place(one.found.stack, one.found.logical_id)
        accepted = {entry.rule for entry in declared if resources.is_within(place, entry.construct)}
        for finding in one.result.findings:
            if finding.rule not in accepted:
                yield SecurityFinding(
                    tool="cluster rules",
                    rule=finding.rule,
                    severity=RULES[finding.rule].severity,
                    message=f"{dotted(finding.path)}: {finding.message}",
                    **place._asdict(),
                )


def _metadata(assembly: Path) -> Metadata:
    """Read what the CDK writes about constructs: in the manifest, or in a file beside each template."""
    stacks = read_artifacts(assembly, "aws:cloudformation:stack")
    files = {
        name: stack["additionalMetadataFile"] for name, stack in stacks.items() if "additionalMetadataFile" in stack
    }
    return {
        stack["properties"].get("stackName", name): stack.get("metadata", {})
        | (json.loads((assembly / files[name]).read_text("utf-8")) if name in files else {})
        for name, stack in stacks.items()
    }


def _declared(metadata: Metadata) -> Iterator[_Declared]:
    """Yield what constructs acknowledge; the ids are `<tool>::<rule>`."""
    for constructs in metadata.values():
        for path, entries in constructs.items():
            for entry in entries:
                if entry["type"] == "aws:cdk:acknowledged-rules":
                    for rule, reason in entry["data"].items():
                        yield _Declared(path.strip("/"), rule.partition("::")[2] or rule, reason)


def _decisions(declared: Iterable[_Declared]) -> Iterator[_Declared]:
    """Yield the acknowledgements, once where several packs have the same rule and one reason answers all of them."""
    seen: set[tuple[str, str, str]] = set()
    for one in declared:
        rule = next((one.rule.removeprefix(f"{pack}-") for pack in _SAME_RULES if one.rule.startswith(pack)), one.rule)
        if (decision := (one.construct, rule, one.reason)) not in seen:
            seen.add(decision)
            yield one


def _checkov_skips(stacks: Iterable[Stack]) -> Iterator[Acknowledgement]:
    for stack in stacks:
        for logical_id, resource in stack.template.get("Resources", {}).items():
            for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", []):
                yield Acknowledgement(
                    rule=skip["id"], stack=stack.name, resource=logical_id, reason=skip.get("comment", "")
                )


def _not_run(reports: Iterable[dict[str, Any]]) -> Iterator[str]:
    ran = {report["pluginName"] for report in reports}
    for pack in PACKS:
        if pack not in ran:
            yield _TOOLS[pack]


def _not_lintable(linted: Iterable[LintedCluster]) -> Iterator[str]:
    for one in linted:
        for missing in one.result.not_checked:
            yield f"cluster rule {missing.rule}: {missing.reason}."
