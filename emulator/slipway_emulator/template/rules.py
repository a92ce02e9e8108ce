"""A template's Rules section: assertions on its parameters."""

from slipway_emulator.failures import TemplateError
from slipway_emulator.template.intrinsics import Resolver


def check_rules(resolver: Resolver) -> None:
    """Refuse the operation when an assertion of the template does not hold.

    Raises:
        TemplateError: An assertion fails; the message carries its description.
    """
    for name, rule in resolver.template.section("Rules").items():
        if "RuleCondition" in rule and not resolver.resolve(rule["RuleCondition"]):
            continue
        for assertion in rule["Assertions"]:
            if not resolver.resolve(assertion["Assert"]):
                description = assertion.get("AssertDescription", "")
                raise TemplateError(f"Template error: rule {name} does not hold. {description}")
