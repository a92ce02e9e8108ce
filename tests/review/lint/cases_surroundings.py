"""Cases of the rules about access, permissions, scripts and storage."""

from tests.review.lint.case import (
    HEAD,
    PERSISTENT,
    QUEUE,
    RESOURCE,
    Case,
    in_zone,
    login_pool,
    policy,
    s3_access,
    storage,
)

ACCESS = [
    Case(
        "head-node-without-elastic-ip",
        {f"{HEAD}.Networking.ElasticIp": "true"},
        "it gets a public address (ElasticIp is 'true')",
        {f"{HEAD}.Networking.ElasticIp": "False"},
    ),
    Case("head-node-without-elastic-ip", {f"{HEAD}.Networking.ElasticIp": "192.0.2.7"}, "'192.0.2.7'"),
    Case(
        "nodes-in-private-subnets",
        {f"{QUEUE}.Networking.AssignPublicIp": True},
        "ask for public addresses",
        {f"{QUEUE}.Networking.AssignPublicIp": "no"},
    ),
    Case("ssh-closed-to-the-world", {f"{HEAD}.Ssh.AllowedIps": "0.0.0.0/0"}, "port 22 is open to 0.0.0.0/0"),
    Case(
        "ssh-closed-to-the-world",
        {f"{HEAD}.Ssh.AllowedIps": "128.0.0.0/1"},
        "port 22 is open to 128.0.0.0/1",
        {f"{HEAD}.Ssh.AllowedIps": "10.0.0.0/8"},
    ),
    Case(
        "ssh-closed-to-the-world",
        {f"{HEAD}.Ssh": {"KeyName": "mine"}},
        "which is the default",
        {f"{HEAD}.Ssh": {"KeyName": "mine", "AllowedIps": "127.0.0.1/32"}},
    ),
    Case(
        "login-nodes-closed-to-the-world",
        login_pool(Ssh={"AllowedIps": "::/0"}),
        "port 22 is open to ::/0",
        login_pool(),
    ),
    Case(
        "remote-desktop-closed-to-the-world",
        {f"{HEAD}.Dcv": {"Enabled": True}},
        "the remote desktop is open to 0.0.0.0/0",
        {f"{HEAD}.Dcv": {"Enabled": "true", "AllowedIps": "10.0.0.0/8"}},
    ),
    Case("login-nodes-without-own-key", login_pool(Ssh={"KeyName": "mine"}), "no KeyName any more", login_pool()),
    Case(
        "session-manager-reaches-head-node",
        {f"{HEAD}.Iam": {}},
        "none of its policies lets Session Manager reach it",
        {f"{HEAD}.Iam": {"InstanceRole": "arn:aws:iam::111122223333:role/head"}},
    ),
    Case(
        "session-manager-reaches-head-node",
        {f"{HEAD}.Iam": {"AdditionalIamPolicies": [{"Policy": "${storage.Policy}"}]}},
        "none of its policies lets Session Manager reach it",
        {f"{HEAD}.Iam": {"AdditionalIamPolicies": [{"Policy": "${training.Sessions}"}]}},
        {"session_policies": {"${training.Sessions}"}},
    ),
    Case(
        "instance-metadata-v2",
        {"Imds": {"ImdsSupport": "v1.0"}},
        "IMDSv1 is allowed",
        {"Imds": {"ImdsSupport": "v2.0"}},
    ),
    Case(
        "head-node-credentials-for-root-only",
        {f"{HEAD}.Imds": {"Secured": "false"}},
        "every user of the head node",
        {f"{HEAD}.Imds": {"Secured": True}},
    ),
    Case(
        "directory-certificate-checked",
        {"DirectoryService": {"DomainAddr": "ldaps://directory", "LdapTlsReqCert": "never"}},
        "certificate is not checked",
        {"DirectoryService": {"DomainAddr": "ldaps://directory", "LdapTlsReqCert": "hard"}},
    ),
    Case(
        "directory-certificate-checked",
        {"DirectoryService": {"DomainAddr": "ldap://directory"}},
        "passwords cross the network in clear",
    ),
]

PERMISSIONS = [
    Case(
        "policies-are-narrow",
        policy("arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"),
        "AmazonS3ReadOnlyAccess allows reading every bucket",
        policy("arn:aws:iam::111122223333:policy/parallelcluster/nodes"),
    ),
    Case(
        "policies-are-narrow",
        policy("arn:aws:iam::aws:policy/AmazonFSxFullAccess"),
        "AmazonFSxFullAccess",
        also=frozenset({"policies-attachable-by-provider"}),
    ),
    Case(
        "policies-attachable-by-provider",
        policy("arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly"),
        "the provider may not attach arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly",
        policy({"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":iam::aws:policy/CloudWatchAgentServerPolicy"]]}),
    ),
    Case("s3-access-names-buckets", s3_access(BucketName="*"), "stands for many buckets", s3_access()),
    Case(
        "s3-access-to-own-buckets", s3_access(BucketName="neuron-s3"), "neuron-s3 is not a bucket of this", s3_access()
    ),
    Case(
        "s3-writing-below-a-prefix",
        s3_access(EnableWriteAccess="true"),
        "may write everywhere",
        s3_access(EnableWriteAccess=True, KeyName="outputs/*"),
    ),
    Case(
        "permissions-boundary-passed-on",
        {},
        "the other roles have the permissions boundary arn:aws:iam::111122223333:policy/boundary",
        {"Iam": {"PermissionsBoundary": "arn:aws:iam::111122223333:policy/boundary"}},
        {"permissions_boundaries": {"arn:aws:iam::111122223333:policy/boundary"}},
    ),
]

SCRIPTS = [
    Case(
        "scripts-from-own-bucket",
        {f"{QUEUE}.CustomActions.OnNodeStart": {"Script": "https://raw.githubusercontent.com/a/b/v1/set_up.sh"}},
        "the script comes from raw.githubusercontent.com",
    ),
    Case(
        "scripts-from-own-bucket",
        {f"{QUEUE}.CustomActions.OnNodeStart": {"Sequence": [{"Script": "s3://neuron-s3/v1/install.sh"}]}},
        "a bucket of the AWS Neuron team",
    ),
    Case(
        "scripts-from-own-bucket",
        {f"{QUEUE}.CustomActions.OnNodeStart.Script": "s3://other/a.sh"},
        "other is not a bucket",
    ),
    Case(
        "scripts-do-not-move",
        {f"{HEAD}.CustomActions.OnNodeUpdated.Script": "s3://own-scripts/main/a.sh"},
        "`main` names another script tomorrow",
        {f"{HEAD}.CustomActions.OnNodeUpdated.Script": "s3://own-scripts/v1/a.sh"},
        {"script_urls": None},
    ),
    Case(
        "head-node-script-urls-stay",
        {f"{HEAD}.CustomActions.OnNodeConfigured.Args": ["head", "0123456789abcdef0123456789abcdef"]},
        "a content hash stands in it",
        {f"{HEAD}.CustomActions.OnNodeConfigured.Args": ["head", "v2.28.1"]},
    ),
    Case(
        "head-node-set-up-can-change",
        {f"{HEAD}.CustomActions.OnNodeUpdated": None},
        "it has OnNodeConfigured and no OnNodeUpdated",
        {f"{HEAD}.CustomActions": None},
    ),
    Case(
        "scripts-are-uploaded",
        {f"{QUEUE}.CustomActions.OnNodeConfigured.Script": "s3://own-scripts/cluster/node_configurd.sh"},
        "nothing puts an object at s3://own-scripts/cluster/node_configurd.sh",
    ),
    Case(
        "neuron-gets-installed",
        {f"{QUEUE}.CustomActions": None},
        "neither a script nor an image brings the Neuron driver",
        {f"{QUEUE}.CustomActions": None, f"{QUEUE}.Image": {"CustomAmi": "ami-0123456789abcdef0"}},
    ),
]

STORAGE = [
    Case(
        "root-volumes-encrypted",
        {f"{QUEUE}.ComputeSettings.LocalStorage.RootVolume.Encrypted": "false"},
        "the root volume is not encrypted",
        {f"{QUEUE}.ComputeSettings.LocalStorage.RootVolume.Encrypted": "true"},
    ),
    Case("shared-storage-encrypted", storage("Ebs", Encrypted=False), "the volume is not encrypted", storage("Ebs")),
    Case(
        "shared-storage-encrypted",
        storage("Efs", DeletionPolicy="Retain"),
        "the file system is not encrypted",
        storage("Efs", FileSystemId="fs-01234567"),
    ),
    Case(
        "data-outlives-cluster",
        storage("Efs", Encrypted=True),
        "the file system is deleted with the cluster",
        storage("Efs", Encrypted=True, DeletionPolicy="Retain"),
    ),
    Case(
        "lustre-keeps-data",
        storage("FsxLustre", DeploymentType="SCRATCH_2", DeletionPolicy="Retain"),
        "SCRATCH_2 has no replication",
        storage("FsxLustre", **PERSISTENT, AutomaticBackupRetentionDays=7),
    ),
    Case(
        "lustre-has-backups",
        storage("FsxLustre", **PERSISTENT),
        "it has neither backups nor a data repository",
        storage(
            "FsxLustre",
            DeploymentType="PERSISTENT_2",
            DeletionPolicy="Retain",
            DataRepositoryAssociations=[{"Name": "d"}],
        ),
    ),
    Case(
        "shared-volumes-for-few-nodes",
        {**storage("Ebs"), f"{RESOURCE}.MaxCount": 101},
        "up to 101 nodes share a volume of the head node (good for 100)",
        {**storage("Ebs"), f"{RESOURCE}.MaxCount": "100"},
        {"vcpu_quotas": {"on_demand_trn": 20_000, "on_demand_standard": 64}, "hourly_ceiling_usd": 1e6},
    ),
    Case(
        "scratch-beside-shared-storage",
        storage("Ebs", mount="scratch/"),
        "/scratch is shared storage too",
        {
            **storage("Ebs", mount="/scratch"),
            f"{QUEUE}.ComputeSettings.LocalStorage.EphemeralVolume.MountDir": "/local",
        },
    ),
    Case(
        "queue-beside-file-system",
        {},
        "it is in usw2-az4, its file system in usw2-az1",
        {"SharedStorage": []},
        in_zone("usw2-az4", "usw2-az1"),
    ),
]
