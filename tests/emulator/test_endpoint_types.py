"""What exists in front of an inference endpoint and beside it is created, changed and deleted through the APIs."""

from typing import Any

from tests.emulator.running import RunningEmulator

VISIBLE = {"CloudWatchMetricsEnabled": True, "SampledRequestsEnabled": True, "MetricName": "m"}
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "codebuild.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def firewall(limit: int) -> dict[str, Any]:
    return {
        "Acl": {
            "Type": "AWS::WAFv2::WebACL",
            "Properties": {
                "Scope": "REGIONAL",
                "DefaultAction": {"Allow": {}},
                "VisibilityConfig": VISIBLE,
                "Rules": [
                    {
                        "Name": "Rate",
                        "Priority": 0,
                        "Action": {"Block": {}},
                        "VisibilityConfig": VISIBLE,
                        "Statement": {"RateBasedStatement": {"Limit": limit, "AggregateKeyType": "IP"}},
                    }
                ],
            },
        }
    }


def test_firewall(emulator: RunningEmulator) -> None:
    wafv2 = emulator.client("wafv2")
    assert emulator.create("firewall", firewall(100)) == "CREATE_COMPLETE"
    name, acl_id, scope = emulator.physical_id("firewall", "Acl").split("|")
    found = wafv2.get_web_acl(Name=name, Id=acl_id, Scope=scope)["WebACL"]
    assert found["Rules"][0]["Statement"]["RateBasedStatement"]["Limit"] == 100

    assert emulator.update("firewall", firewall(200)) == "UPDATE_COMPLETE"
    assert emulator.delete("firewall") == "DELETE_COMPLETE"
    assert wafv2.list_web_acls(Scope="REGIONAL")["WebACLs"] == []


def test_machine_clients(emulator: RunningEmulator) -> None:
    pool = {"Ref": "Pool"}
    resources = {
        "Pool": {"Type": "AWS::Cognito::UserPool", "Properties": {"UserPoolName": "machines"}},
        "Server": {
            "Type": "AWS::Cognito::UserPoolResourceServer",
            "Properties": {
                "UserPoolId": pool,
                "Identifier": "llm",
                "Name": "llm",
                "Scopes": [{"ScopeName": "invoke", "ScopeDescription": "ask"}],
            },
        },
        "Domain": {
            "Type": "AWS::Cognito::UserPoolDomain",
            "Properties": {"UserPoolId": pool, "Domain": "slipway-test"},
        },
        "Client": {
            "Type": "AWS::Cognito::UserPoolClient",
            "DependsOn": "Server",
            "Properties": {"UserPoolId": pool, "GenerateSecret": True, "AllowedOAuthScopes": ["llm/invoke"]},
        },
    }
    cognito = emulator.client("cognito-idp")
    status = emulator.create("machines", resources, Outputs={"Client": {"Value": {"Ref": "Client"}}})
    assert status == "CREATE_COMPLETE", emulator.reasons("machines")
    pool_id = emulator.physical_id("machines", "Pool")
    client = cognito.describe_user_pool_client(UserPoolId=pool_id, ClientId=emulator.outputs("machines")["Client"])
    assert client["UserPoolClient"]["ClientSecret"]

    assert emulator.delete("machines") == "DELETE_COMPLETE"
    assert cognito.list_user_pools(MaxResults=10)["UserPools"] == []


def test_image_copies(emulator: RunningEmulator) -> None:
    def project(minutes: int) -> dict[str, Any]:
        return {
            "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": TRUST}},
            "Copy": {
                "Type": "AWS::CodeBuild::Project",
                "Properties": {
                    "ServiceRole": {"Fn::GetAtt": ["Role", "Arn"]},
                    "TimeoutInMinutes": minutes,
                    "Artifacts": {"Type": "NO_ARTIFACTS"},
                    "Environment": {
                        "Type": "LINUX_CONTAINER",
                        "ComputeType": "BUILD_GENERAL1_SMALL",
                        "Image": "aws/codebuild/standard:7.0",
                    },
                    "Source": {"Type": "NO_SOURCE", "BuildSpec": '{"version":"0.2"}'},
                },
            },
        }

    codebuild = emulator.client("codebuild")
    assert emulator.create("copies", project(30)) == "CREATE_COMPLETE", emulator.reasons("copies")
    assert codebuild.list_projects()["projects"] == [emulator.physical_id("copies", "Copy")]

    assert emulator.update("copies", project(60)) == "UPDATE_COMPLETE"
    assert emulator.delete("copies") == "DELETE_COMPLETE"
    assert codebuild.list_projects()["projects"] == []
