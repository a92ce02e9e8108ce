"""The budget that acts: who is told, who is called, and what the function may do."""

import json
from typing import Any

import pytest

from slipway_pause import handler, part
from slipway_pause.environment import Targets
from tests.assembly import Assembly

STOPPING = ("beside", "rolledout")


@pytest.fixture(params=STOPPING)
def stopping(request: pytest.FixtureRequest, assemblies: Any) -> Assembly:
    """Each environment that stops at its budget."""
    assembly: Assembly = assemblies(request.param)
    return assembly


def action(assembly: Assembly, resource_type: str) -> tuple[str, Any]:
    """The action's one resource of a type: its logical id and its properties."""
    [(logical_id, resource)] = [
        (logical_id, resource)
        for logical_id, resource in assembly.resources("operations", resource_type).items()
        if logical_id.startswith("BudgetAction")
    ]
    return logical_id, resource.get("Properties", {})


def subscribers(assembly: Assembly) -> dict[tuple[str, int], list[Any]]:
    """Who gets each notification of the budget."""
    budget = assembly.resource("operations", "AWS::Budgets::Budget")
    return {
        (item["Notification"]["NotificationType"], item["Notification"]["Threshold"]): [
            (subscriber["SubscriptionType"], subscriber["Address"]) for subscriber in item["Subscribers"]
        ]
        for item in budget["NotificationsWithSubscribers"]
    }


def statements(assembly: Assembly) -> list[Any]:
    """What the function may do."""
    found: list[Any] = action(assembly, "AWS::IAM::ManagedPolicy")[1]["PolicyDocument"]["Statement"]
    return found


def test_only_the_whole_budget_actually_spent_reaches_the_function(stopping: Assembly) -> None:
    topic, _ = action(stopping, "AWS::SNS::Topic")
    _, subscription = action(stopping, "AWS::SNS::Subscription")
    function, _ = action(stopping, "AWS::Lambda::Function")
    told = subscribers(stopping)

    assert {key for key, found in told.items() if ("SNS", {"Ref": topic}) in found} == {("ACTUAL", 100)}
    assert subscription == {
        "Endpoint": {"Fn::GetAtt": [function, "Arn"]},
        "Protocol": "lambda",
        "TopicArn": {"Ref": topic},
    }
    assert len(told) == 4


def test_a_notification_has_one_topic_and_the_address_of_the_file_beside_the_functions(rolledout: Assembly) -> None:
    told = subscribers(rolledout)

    assert all([kind for kind, _ in found].count("SNS") == 1 for found in told.values())
    assert ("EMAIL", "platform@example.com") in told["ACTUAL", 100]
    assert all(len(found) == 1 for key, found in told.items() if key != ("ACTUAL", 100))


def test_only_its_topic_may_call_the_function(stopping: Assembly) -> None:
    topic, _ = action(stopping, "AWS::SNS::Topic")
    _, permission = action(stopping, "AWS::Lambda::Permission")

    assert (permission["Principal"], permission["SourceArn"]) == ("sns.amazonaws.com", {"Ref": topic})


def test_an_event_that_failed_three_times_reaches_people(stopping: Assembly) -> None:
    _, function = action(stopping, "AWS::Lambda::Function")
    notifications = stopping.template("operations")["Outputs"]["NotificationTopic"]["Value"]

    assert function["DeadLetterConfig"] == {"TargetArn": notifications}
    assert function["Environment"]["Variables"]["SLIPWAY_TOPIC_ARN"] == notifications


def test_the_function_runs_the_package_with_the_names_of_the_environment(assemblies: Any) -> None:
    beside, rolledout = (action(assemblies(name), "AWS::Lambda::Function")[1] for name in STOPPING)

    def targets(function: Any) -> Targets:
        return Targets.read(function["Environment"]["Variables"]["SLIPWAY_TARGETS"])

    assert beside["Handler"] == f"{handler.__name__}.{handler.handle.__name__}"
    assert targets(beside) == Targets(("beside",), ("slipway-beside-kubernetes",), ())
    assert targets(rolledout).services == (
        "slipway-rolledout-inference/tanuki-8b",
        "slipway-rolledout-inference/tanuki-8b-candidate",
    )


def test_the_services_are_those_of_the_inference_stack(rolledout: Assembly) -> None:
    cluster = rolledout.resource("inference", "AWS::ECS::Cluster")["ClusterName"]
    services = {
        f"{cluster}/{resource['Properties']['ServiceName']}"
        for resource in rolledout.resources("inference", "AWS::ECS::Service").values()
        if resource["Properties"].get("SchedulingStrategy") != "DAEMON"
    }
    variables = action(rolledout, "AWS::Lambda::Function")[1]["Environment"]["Variables"]

    assert set(Targets.read(variables["SLIPWAY_TARGETS"]).services) == services


def test_it_may_set_one_tag_and_no_other(stopping: Assembly) -> None:
    tags = ("TagResource", "TagRole")
    tagging = [statement for statement in statements(stopping) if str(statement["Action"]).endswith(tags)]

    assert tagging
    for statement in tagging:
        [(_, condition)] = statement["Condition"].items()
        allowed = condition["aws:TagKeys"]
        assert ({allowed} if isinstance(allowed, str) else set(allowed)) <= {part.TAG, f"{part.TAG}/*"}


def test_it_can_stop_and_not_start(stopping: Assembly) -> None:
    written = json.dumps(statements(stopping))

    assert "Untag" not in written
    assert "ResumeProcesses" not in written


def test_a_wildcard_is_bound_by_a_condition_or_a_name(stopping: Assembly) -> None:
    assert stopping.environment.training
    cluster = stopping.environment.training.cluster_name
    for statement in statements(stopping):
        written = json.dumps(statement["Resource"])
        if "*" in written:
            assert (
                "Condition" in statement
                or "nodegroup/slipway-beside-kubernetes/*" in written
                or any(name in written for name in (f":stack/{cluster}/*", f":role/parallelcluster/{cluster}/*"))
                or statement["Action"] == "application-autoscaling:DescribeScalableTargets"
            )


def test_it_needs_no_other_stack(stopping: Assembly) -> None:
    resources = stopping.template("operations")["Resources"]
    of_the_action = {key: resource for key, resource in resources.items() if key.startswith("BudgetAction")}

    assert "Fn::ImportValue" not in json.dumps(of_the_action)


def test_an_environment_that_is_told_alone_has_no_function(default: Assembly) -> None:
    assert not default.resources("operations", "AWS::Lambda::Function")
    assert {kind for found in subscribers(default).values() for kind, _ in found} == {"SNS"}
