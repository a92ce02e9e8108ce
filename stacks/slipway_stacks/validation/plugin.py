"""Slipway's rules as a policy validation plug-in of the CDK."""

from collections.abc import Callable, Iterable
from pathlib import Path

import aws_cdk as cdk
import jsii


@jsii.implements(cdk.IPolicyValidationPlugin)
class TemplateRules:
    """Rules that read the templates a synthesis has just written: an error fails `cdk synth`, a warning is printed."""

    def __init__(self, name: str, rule_ids: list[str], find: Callable[[Path], Iterable[cdk.PolicyViolation]]) -> None:
        """Describe them.

        Args:
            name: what the validation report calls the rules.
            rule_ids: ids of all rules.
            find: reads the folder of the assembly.
        """
        self._name, self._rule_ids, self._find = name, rule_ids, find

    # jsii finds what a class defines, not what an object has.
    @property
    def name(self) -> str:
        """What the validation report calls the rules."""
        return self._name

    @property
    def rule_ids(self) -> list[str]:
        """Ids of all rules."""
        return self._rule_ids

    @property
    def version(self) -> None:
        """The rules have no version of their own."""
        return

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Check the assembly that has just been written."""
        violations = list(self._find(Path(context.template_paths[0]).parent))
        success = not any(violation.severity == "error" for violation in violations)
        return cdk.PolicyValidationPluginReport(success=success, violations=violations)


def violating(folder: Path, stack: str, logical_id: str, location: str) -> cdk.PolicyViolatingResource:
    """Name the resource that breaks a rule.

    Args:
        folder: the folder of the assembly.
        stack: name of its stack.
        logical_id: its logical id.
        location: dotted path in the resource, or a few words.
    """
    template = str(folder / f"{stack}.template.json")
    return cdk.PolicyViolatingResource(resource_logical_id=logical_id, template_path=template, locations=[location])
