"""Messages from services to topics, queues and functions: who may send them, and who may use the keys."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from slipway.review.changes.resources import Resource
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, refers_to, texts, values_at
from slipway.review.wiring.statements import Statement, statements

_FUNCTION, _TOPIC, _QUEUE = "AWS::Lambda::Function", "AWS::SNS::Topic", "AWS::SQS::Queue"
_KEY, _BUCKET = "AWS::KMS::Key", "AWS::S3::Bucket"


class _Message(NamedTuple):
    """A message from a service to a topic, a queue or a function."""

    sender: Resource
    path: str
    service: str
    target: Resource


def _messages(resources: Resources) -> Iterator[_Message]:
    senders = (
        *(("AWS::CloudWatch::Alarm", f"{name}Actions.*", "cloudwatch") for name in ("Alarm", "OK", "InsufficientData")),
        ("AWS::CloudWatch::CompositeAlarm", "AlarmActions.*", "cloudwatch"),
        ("AWS::Budgets::Budget", "NotificationsWithSubscribers.*.Subscribers.*.Address", "budgets"),
        ("AWS::Events::Rule", "Targets.*.Arn", "events"),
        ("AWS::SNS::Subscription", "Endpoint", "sns"),
        ("AWS::S3::Bucket", "NotificationConfiguration.TopicConfigurations.*.Topic", "s3"),
        ("AWS::S3::Bucket", "NotificationConfiguration.QueueConfigurations.*.Queue", "s3"),
        ("AWS::S3::Bucket", "NotificationConfiguration.LambdaConfigurations.*.Function", "s3"),
    )
    for type_, path, service in senders:
        for sender in resources.of_type(type_):
            for at, value in values_at(sender.properties, path):
                if target := resources.resource(value, _TOPIC, _QUEUE, _FUNCTION):
                    yield _Message(sender, at, f"{service}.amazonaws.com", target)


_POLICIES = {_TOPIC: ("AWS::SNS::TopicPolicy", "sns:Publish"), _QUEUE: ("AWS::SQS::QueuePolicy", "sqs:SendMessage")}


@rule(
    reason="The message is dropped, and the sender shows no error.",
    fix="Allow the service in the policy of the topic or queue, or add an AWS::Lambda::Permission.",
    source='Amazon SNS developer guide, "Example cases for Amazon SNS access control"; Amazon EventBridge user guide, '
    '"Using resource-based policies for Amazon EventBridge"',
)
def receiver_lets_its_senders_send(resources: Resources) -> Iterator[Finding]:
    """Topics, queues and functions allow the services that send to them."""
    for sender, path, service, target in _messages(resources):
        if target.type == _FUNCTION:
            permissions = [
                each
                for each in resources.of_type("AWS::Lambda::Permission")
                if resources.resource(each.at("FunctionName"), _FUNCTION) is target
            ]
            if not any(each.at("Principal") == service and _is_of(resources, each, sender) for each in permissions):
                yield about(sender, path, f"no permission lets {service} call {target.logical_id} for it")
            continue
        type_, action = _POLICIES[target.type]
        policies = [each for each in resources.of_type(type_) if refers_to(each, target)]
        allowing = (one for each in policies for one in statements(each.at("PolicyDocument")) if one.allows)
        # A topic's default policy allows its own account, and so CloudWatch alarms of that account.
        by_default = target.type == _TOPIC and not policies and service == "cloudwatch.amazonaws.com"
        if not by_default and not any(one.is_for(service) and one.allows_action(action) for one in allowing):
            yield about(sender, path, f"no policy lets {service} send to {target.logical_id}")


def _is_of(resources: Resources, permission: Resource, sender: Resource) -> bool:
    """Whether a permission covers a sender; the source of a subscription is its topic."""
    named = resources.referred(permission.at("SourceArn"))
    topic = resources.referred(sender.at("TopicArn"))
    return named is None or named[0] in (sender, topic[0] if topic else None)


@rule(
    reason="The service cannot use the key: AWS refuses the resource, or drops the messages.",
    fix="Allow the service `kms:Decrypt` and `kms:GenerateDataKey*` in the key's policy.",
    source='Amazon SNS developer guide, "Enable compatibility between event sources from AWS services and encrypted '
    'topics"; Amazon CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS"',
)
def key_lets_its_users_use_it(resources: Resources) -> Iterator[Finding]:
    """A key's policy allows CloudWatch Logs for encrypted log groups, and senders for encrypted topics and queues."""
    wanted = [
        (group, "KmsKeyId", f"logs.{resources.region_of(group)}.amazonaws.com", group.at("KmsKeyId"))
        for group in resources.of_type("AWS::Logs::LogGroup")
    ]
    wanted += [
        (each.sender, each.path, each.service, each.target.at("KmsMasterKeyId")) for each in _messages(resources)
    ]
    for user, path, service, named in wanted:
        key = resources.resource(named, _KEY)
        allowing = [one for one in statements(key.at("KeyPolicy")) if one.allows] if key else []
        if user.type == "AWS::Logs::LogGroup":
            allowing = [one for one in allowing if _is_about(one, user)]
        short = f"{service.partition('.')[0]}.amazonaws.com"
        if key and not any(
            (one.is_for(service) or one.is_for(short)) and one.allows_action("kms:GenerateDataKey") for one in allowing
        ):
            yield about(user, path, f"the policy of {key.logical_id} does not let {service} use the key")


def _is_about(statement: Statement, group: Resource) -> bool:
    """Whether a statement of a key's policy covers a log group."""
    patterns = statement.condition("ArnLike").get("kms:encryptioncontext:aws:logs:arn", [":log-group:*"])
    # Names that CloudFormation generates begin with the stack's name.
    name = str(group.at("LogGroupName") or f"{group.stack}-{group.logical_id}-0")
    return any(fnmatchcase(name.lower(), pattern.rpartition(":log-group:")[2]) for pattern in patterns)


@rule(
    severity="warning",
    reason="Events match the rule, and nothing happens.",
    fix="Write `State: ENABLED`, or remove the rule.",
    source='Amazon EventBridge user guide, "Amazon EventBridge rules"',
)
def event_rule_acts(resources: Resources) -> Iterator[Finding]:
    """An EventBridge rule is enabled and has a target."""
    for watcher in resources.of_type("AWS::Events::Rule"):
        if watcher.at("State") == "DISABLED":
            yield about(watcher, "State", "it is disabled")
        if not watcher.at("Targets"):
            yield about(watcher, "Targets", "it has no target")


@rule(
    reason="The bucket sends no events to EventBridge: the rule never matches.",
    fix="Write `EventBridgeEnabled: true` for the bucket, or name the right bucket.",
    source='Amazon S3 user guide, "Using EventBridge"',
)
def bucket_sends_the_events_of_a_rule(resources: Resources) -> Iterator[Finding]:
    """A bucket that an EventBridge rule names sends its events to EventBridge."""
    for watcher in resources.of_type("AWS::Events::Rule"):
        for index, name in enumerate(texts(watcher.at("EventPattern.detail.bucket.name"))):
            bucket = resources.resource(name, _BUCKET)
            if bucket and bucket.at("NotificationConfiguration.EventBridgeConfiguration") is None:
                path = f"EventPattern.detail.bucket.name.{index}"
                yield about(watcher, path, f"{bucket.logical_id} sends no events to EventBridge")


@rule(
    reason="No event has this source: the rule never matches.",
    fix="Write the source as events have it, such as `aws.s3`.",
    source='Amazon EventBridge user guide, "Events from AWS services"',
)
def event_source_is_a_source(resources: Resources) -> Iterator[Finding]:
    """The source in an event pattern is an event source such as `aws.s3`, not a service principal."""
    for watcher in resources.of_type("AWS::Events::Rule"):
        for source in texts(watcher.at("EventPattern.source")):
            if source.endswith(".amazonaws.com"):
                yield about(watcher, "EventPattern.source", f"{source} is a service principal")
