"""Protections that go by being left out, and lifecycle rules without names."""

from typing import Any

import pytest

from tests.review.changes.broader import broader, resource

LOAD_BALANCER = "AWS::ElasticLoadBalancingV2::LoadBalancer"
LISTENER = "AWS::ElasticLoadBalancingV2::Listener"
TASK = "AWS::ECS::TaskDefinition"
TLS_1_3 = "ELBSecurityPolicy-TLS13-1-2-2021-06"
NOBODY = {"Ssh": {"AllowedIps": "127.0.0.1/32"}}


def _attributes(**values: str) -> dict[str, Any]:
    rows = [{"Key": key.replace("__", "."), "Value": value} for key, value in values.items()]
    return resource(LOAD_BALANCER, Scheme="internal", LoadBalancerAttributes=rows)


def _container(**settings: Any) -> dict[str, Any]:
    return resource(TASK, ContainerDefinitions=[{"Name": "engine", **settings}])


def _cluster(**configuration: Any) -> dict[str, Any]:
    return resource("Custom::PclusterCluster", ClusterConfiguration={"HeadNode": NOBODY, **configuration})


def _directory(**settings: str) -> dict[str, Any]:
    return _cluster(DirectoryService={"DomainName": "example", **settings})


def _bucket(*rules: dict[str, Any]) -> dict[str, Any]:
    enabled = [{"Status": "Enabled", **rule} for rule in rules]
    return resource("AWS::S3::Bucket", LifecycleConfiguration={"Rules": enabled})


def _launched(**data: Any) -> dict[str, Any]:
    return resource("AWS::EC2::LaunchTemplate", LaunchTemplateData=data)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (_attributes(deletion_protection__enabled="true"), _attributes(), "The load balancer can be deleted"),
        (
            _attributes(access_logs__s3__enabled="true"),
            resource(LOAD_BALANCER, Scheme="internal"),
            "Nobody logs who uses the endpoint",
        ),
        (
            resource(LISTENER, Protocol="HTTPS", SslPolicy=TLS_1_3),
            resource(LISTENER, Protocol="HTTPS"),
            "TLS 1.0 is good enough (ELBSecurityPolicy-2016-08, the default)",
        ),
        (
            _launched(IamInstanceProfile={"Arn": "one"}),
            _launched(IamInstanceProfile={"Arn": "other"}),
            "Instances have another profile: other",
        ),
        (
            _launched(SecurityGroupIds=["sg-1"]),
            _launched(SecurityGroupIds=["sg-1", "sg-2"]),
            "Instances are in another security group: sg-2",
        ),
        (
            resource(TASK, ExecutionRoleArn="one"),
            resource(TASK, ExecutionRoleArn="other"),
            "Containers are started with another role: other",
        ),
        (_container(User="65534"), _container(), "A container runs as the user of its image"),
        (_container(User="65534"), _container(User="0"), "A container runs as root"),
        (
            _container(LinuxParameters={"Capabilities": {"Drop": ["ALL"]}}),
            _container(LinuxParameters={"Capabilities": {}}),
            "A container keeps rights on its host: ALL",
        ),
        (
            resource(TASK, Volumes=[{"Name": "models", "Host": {"SourcePath": "/mnt/models"}}]),
            resource(TASK, Volumes=[{"Name": "models", "Host": {"SourcePath": "/"}}]),
            "Containers are given the files or the containers of their host",
        ),
        (
            resource("AWS::SNS::Topic", KmsMasterKeyId="alias/aws/sns"),
            resource("AWS::SNS::Topic"),
            "Messages are not encrypted",
        ),
        (
            _cluster(Iam={"PermissionsBoundary": "limit"}),
            _cluster(),
            "No permissions boundary limits the roles that ParallelCluster makes",
        ),
        (
            _directory(),
            _directory(LdapTlsReqCert="never"),
            "Nobody checks who answers as the directory",
        ),
        (
            _directory(LdapAccessFilter="(memberOf=cn=trainers)"),
            _directory(),
            "Everybody in the directory gets into the cluster",
        ),
    ],
)
def test_what_protects_less_is_told(before: dict[str, Any], after: dict[str, Any], what: str) -> None:
    assert broader(before, after) == [what]


def _chosen(one: Any, other: Any) -> Any:
    return {"Fn::If": ["Wanted", one, other]}


@pytest.mark.parametrize(
    ("before", "after", "is_weaker"),
    [
        ({"Scheme": "internal"}, {"Scheme": _chosen("internet-facing", "internal")}, True),
        ({"Scheme": _chosen("internal", "internal")}, {"Scheme": "internal"}, False),
        ({"Scheme": _chosen("internet-facing", "internal")}, {"Scheme": "internal"}, False),
    ],
)
def test_of_two_schemes_the_wider_counts(before: dict[str, Any], after: dict[str, Any], is_weaker: bool) -> None:
    assert bool(broader(resource(LOAD_BALANCER, **before), resource(LOAD_BALANCER, **after))) is is_weaker


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"RetentionInDays": 90}, {"RetentionInDays": _chosen(90, 1)}),
        ({"KmsKeyId": "key"}, {"KmsKeyId": _chosen("key", {"Ref": "AWS::NoValue"})}),
        ({"DeletionProtectionEnabled": True}, {"DeletionProtectionEnabled": _chosen(True, False)}),
    ],
)
def test_of_two_values_the_weaker_counts(before: dict[str, Any], after: dict[str, Any]) -> None:
    log_group = "AWS::Logs::LogGroup"

    assert len(broader(resource(log_group, **before), resource(log_group, **after))) == 1
    assert broader(resource(log_group, **after), resource(log_group, **after)) == []
    assert broader(resource(log_group, **after), resource(log_group, **before)) == []


DAY_9 = {"ExpirationInDays": 9}
A_WEEK = {"ExpirationInDays": 7}


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        # A rule in front of another one.
        ([DAY_9], [{"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}, DAY_9], []),
        ([{"Prefix": "a", **DAY_9}, A_WEEK], [A_WEEK, {"Prefix": "a", **DAY_9}], []),
        # What is under `a` goes within a week already.
        ([A_WEEK], [A_WEEK, {"Prefix": "a", **DAY_9}], []),
        ([{"Prefix": "tmp/", **DAY_9}], [DAY_9], ["Objects are deleted after 9 days (before: not all of them)"]),
        ([DAY_9], [A_WEEK], ["Objects are deleted after 7 days (before: 9)"]),
        ([], [{"Prefix": "a/", **A_WEEK}], ["Objects under a/ are deleted after 7 days (before: never)"]),
        (
            [{"TagFilters": [{"Key": "a", "Value": "b"}], **DAY_9}],
            [DAY_9],
            ["Objects are deleted after 9 days (before: not all of them)"],
        ),
        ([{**DAY_9, "Status": "Disabled"}], [DAY_9], ["Objects are deleted after 9 days (before: never)"]),
        (
            [{"NoncurrentVersionExpiration": {"NoncurrentDays": 30, "NewerNoncurrentVersions": 5}}],
            [{"NoncurrentVersionExpiration": {"NoncurrentDays": 30}}],
            ["Old versions of objects are deleted after 30 days (before: 30)"],
        ),
        ([], [{"ExpirationDate": "2027-01-01"}], ["Objects are deleted on 2027-01-01 (before: never)"]),
    ],
)
def test_rules_are_compared_by_what_they_delete(
    before: list[dict[str, Any]], after: list[dict[str, Any]], what: list[str]
) -> None:
    assert broader(_bucket(*before), _bucket(*after)) == what


NOTHING = {"Ref": "AWS::NoValue"}
PARAMETER = {"Ref": "Parameter"}
WEEKLY = "Objects are deleted after 7 days (before: never)"
OLD = "Old versions of objects are deleted after 30 days (before: never)"


@pytest.mark.parametrize(
    ("configuration", "what"),
    [
        (NOTHING, []),
        ({"TransitionDefaultMinimumObjectSize": "varies_by_storage_class"}, []),
        (_chosen({"Rules": [{"Status": "Enabled", **A_WEEK}]}, NOTHING), [WEEKLY]),
        ({"Rules": [{"Status": _chosen("Enabled", "Disabled"), **A_WEEK}]}, [WEEKLY]),
        ({"Rules": [{"Status": "Enabled", "ExpirationInDays": _chosen(7, NOTHING)}]}, [WEEKLY]),
        ({"Rules": [{"Status": "Enabled", "NoncurrentVersionExpirationInDays": 30}]}, [OLD]),
        (
            {
                "Rules": [
                    {
                        "Status": "Enabled",
                        "NoncurrentVersionExpiration": _chosen(
                            {"NoncurrentDays": 30, "NewerNoncurrentVersions": PARAMETER}, NOTHING
                        ),
                    }
                ]
            },
            [OLD],
        ),
    ],
)
def test_rules_that_may_be_are_told(configuration: dict[str, Any], what: list[str]) -> None:
    bucket = resource("AWS::S3::Bucket", LifecycleConfiguration=configuration)

    assert broader(resource("AWS::S3::Bucket"), bucket) == what


def test_tags_of_a_rule_have_no_order() -> None:
    tags = [{"Key": "a", "Value": "1"}, {"Value": "2", "Key": "b"}]

    assert broader(_bucket({**DAY_9, "TagFilters": tags}), _bucket({**DAY_9, "TagFilters": tags[::-1]})) == []
    assert broader(_bucket(), _bucket({**DAY_9, "TagFilters": tags})) == [
        "Objects are deleted after 9 days (before: never), with TagFilters a=1 and b=2"
    ]


@pytest.mark.parametrize("resource_type", ["AWS::RDS::DBInstance", "AWS::RDS::DBCluster"])
def test_a_database_keeps_a_snapshot_by_default(resource_type: str) -> None:
    default, snapshot, delete = (
        {"One": {"Type": resource_type, **policy}}
        for policy in ({}, {"DeletionPolicy": "Snapshot"}, {"DeletionPolicy": "Delete"})
    )

    assert broader(snapshot, default) == broader(default, snapshot) == []
    assert len(broader(default, delete)) == 1


def test_a_rule_that_looks_at_another_header_is_told() -> None:
    rules = (
        resource(
            "AWS::ElasticLoadBalancingV2::ListenerRule",
            Conditions=[{"Field": "http-header", "HttpHeaderConfig": {"HttpHeaderName": name, "Values": ["k"]}}],
        )
        for name in ("x", "y")
    )

    assert broader(*rules) == ["The rule looks at another header: y"]


PATHS = {"Field": "path-pattern", "PathPatternConfig": {"Values": ["/a"]}}
HEADER = {"Field": "http-header", "HttpHeaderConfig": {"HttpHeaderName": "x", "Values": ["k"]}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            resource("AWS::ElasticLoadBalancingV2::ListenerRule", Conditions=[PATHS]),
            resource("AWS::ElasticLoadBalancingV2::ListenerRule", Conditions=[HEADER, PATHS]),
        ),
        (_cluster(), _cluster(Iam={"PermissionsBoundary": "limit"})),
        (resource("AWS::IAM::Role"), resource("AWS::IAM::Role", PermissionsBoundary="limit")),
        (_launched(SecurityGroups=["sg-1", "sg-2"]), _launched(SecurityGroups=["sg-2"])),
    ],
)
def test_what_limits_more_is_not_told(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert broader(before, after) == []
