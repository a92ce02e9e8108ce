"""Rights of pods: a role for one service account, and its association with the cluster."""

from pathlib import Path

from aws_cdk import aws_iam as iam

from neuron_constructs.kubernetes.pod_identity import pod_role
from tests.kubernetes_cluster_stack import cluster_stack, synthesize


def test_a_service_account_gets_its_role_after_the_rights_of_that(tmp_path: Path) -> None:
    built = cluster_stack(tmp_path)
    rights = iam.ManagedPolicy(
        built.stack,
        "Rights",
        statements=[iam.PolicyStatement(actions=["s3:ListAllMyBuckets"], resources=["*"])],
    )

    role = pod_role(
        built.stack,
        "Jobs",
        cluster=built.kubernetes.cluster,
        namespace="slipway",
        service_account="jobs",
        policies=[rights],
    )
    rights_id = built.stack.resolve(rights.managed_policy_arn)["Ref"]
    role_arn = built.stack.resolve(role.role_arn)

    made = synthesize(built)
    cluster_id, _ = made.one("EKS::Cluster")
    _, association = made.one("EKS::PodIdentityAssociation")
    created = made.resources("IAM::Role")[role_arn["Fn::GetAtt"][0]]["Properties"]

    assert association["Properties"] == {
        "ClusterName": {"Ref": cluster_id},
        "Namespace": "slipway",
        "ServiceAccount": "jobs",
        "RoleArn": role_arn,
    }
    assert rights_id in association["DependsOn"]
    assert created["ManagedPolicyArns"] == [{"Ref": rights_id}]
    assert created["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]["StringEquals"] == {
        "aws:RequestTag/eks-cluster-arn": {"Fn::GetAtt": [cluster_id, "Arn"]},
        "aws:RequestTag/kubernetes-namespace": "slipway",
        "aws:RequestTag/kubernetes-service-account": "jobs",
    }
