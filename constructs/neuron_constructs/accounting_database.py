"""The MySQL database in Amazon RDS where slurmdbd keeps Slurm's accounting records."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov
from neuron_constructs.security_groups import without_default_egress
from slipway import facts

ENGINE = "mysql"
"""The engine, a row of the facts."""

USER_NAME = "slurm"
"""The user that slurmdbd logs in as; it makes its database itself."""

_PARAMETERS = {
    # A roll-up or a purge of a large table holds its locks for minutes (Slurm, "Accounting and Resource Limits").
    "innodb_lock_wait_timeout": "900",
    # slurmdbd's MySQL client turns TLS on by itself; AWS's own template for ParallelCluster requires it too.
    "require_secure_transport": "1",
}
"""What slurmdbd wants and MySQL's or RDS's defaults do not give: max_allowed_packet is 64 MiB, and three quarters of
the memory are the buffer pool's."""

_NOT_ROTATED = (
    "ParallelCluster does not follow a rotation: slurmdbd keeps the old password until its own script "
    "update_slurm_database_password.sh runs on the head node. `slipway docs storage` says how to rotate by hand."
)
_AWS_MANAGED_KEY = "The AWS-managed key needs no grants for the head node, and no key outlives the environment."
_ACCEPTED_OF_PASSWORD = {
    "AwsSolutions-SMG4": _NOT_ROTATED,
    "NIST.800.53.R5-SecretsManagerRotationEnabled": _NOT_ROTATED,
    "NIST.800.53.R5-SecretsManagerUsingKMSKey": _AWS_MANAGED_KEY,
}
_DELETED_WITH_STACK = (
    "CloudFormation must be able to delete it with its stack. A persistent one is behind the stack's termination "
    "protection, and leaves a last snapshot."
)
_NO_ENHANCED_MONITORING = (
    "The load is slurmdbd's alone and CloudWatch's metrics show it; enhanced monitoring would make a log group for the "
    "whole account that no stack deletes."
)
_NO_LOG_EXPORT = (
    "RDS would make log groups without retention outside of the stack. Its error log stays readable at the instance."
)
_ACCEPTED_OF_INSTANCE = {
    "AwsSolutions-RDS10": _DELETED_WITH_STACK,
    "NIST.800.53.R5-RDSInstanceDeletionProtectionEnabled": _DELETED_WITH_STACK,
    "AwsSolutions-RDS11": "The port is no secret: only the head node's security group reaches it.",
    "NIST.800.53.R5-RDSEnhancedMonitoringEnabled": _NO_ENHANCED_MONITORING,
    "NIST.800.53.R5-RDSInBackupPlan": "RDS itself backs it up every day and can restore any second in between.",
    **{
        f"NIST.800.53.R5-RDSLoggingEnabled[LogExport::{log}]": _NO_LOG_EXPORT
        for log in ("audit", "error", "general", "slowquery")
    },
}
_CHECKOV_SKIPS_OF_INSTANCE = {
    "CKV_AWS_118": _NO_ENHANCED_MONITORING,
    "CKV_AWS_161": "slurmdbd logs in with user name and password; it knows no IAM tokens.",
}
_NO_STANDBY = (
    "slurmctld keeps the records until slurmdbd is back; a standby at twice the price is the environment file's choice."
)


@dataclass(frozen=True, kw_only=True)
class AccountingDatabaseProps:
    """Properties of an `AccountingDatabase`."""

    vpc: ec2.IVpc
    """The VPC of the subnets."""

    subnets: Sequence[ec2.ISubnet]
    """Private subnets in two zones or more: RDS asks for two even of a database with one server."""

    instance_type: str
    """RDS instance class, for example `db.t4g.medium`."""

    storage_gib: int
    """Size of the gp3 storage in GiB."""

    multi_az: bool
    """Whether a standby runs in a second zone."""

    backup_retention_days: int
    """Days that a daily backup is kept; at least 1."""

    removal_policy: cdk.RemovalPolicy
    """`DESTROY` deletes the database and its backups with the stack, `SNAPSHOT` takes a last snapshot before."""


class AccountingDatabase(Construct):
    """A private, encrypted MySQL server for the head node's slurmdbd, and the secret with its password."""

    instance: rds.DatabaseInstance
    client_security_group: ec2.SecurityGroup

    def __init__(self, scope: Construct, id: str, props: AccountingDatabaseProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self._engine = facts.database_engine(ENGINE)
        self._secret = secretsmanager.Secret(
            self,
            "Password",
            description="Slurm accounting: the database password as plain text, as ParallelCluster reads it",
            # Plain text and not the JSON of RDS's own secrets, which would become the password as a whole. Letters and
            # digits only: slurmdbd.conf takes # for a comment, and RDS refuses / @ " and blanks.
            generate_secret_string=secretsmanager.SecretStringGenerator(exclude_punctuation=True, password_length=32),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.client_security_group = ec2.SecurityGroup(
            self,
            "ClientSecurityGroup",
            vpc=props.vpc,
            description="Slurm accounting: who may connect to the database",
            allow_all_outbound=False,
        )
        self.instance = self._instance(props)
        self._accept_findings(multi_az=props.multi_az)

    @property
    def endpoint(self) -> str:
        """`host:port`, without a scheme: ParallelCluster refuses one."""
        return f"{self.instance.db_instance_endpoint_address}:{self._engine.port}"

    @property
    def user_name(self) -> str:
        """The user that slurmdbd logs in as."""
        return USER_NAME

    @property
    def password_secret_arn(self) -> str:
        """ARN of the secret; the template holds nothing but a reference to it."""
        return self._secret.secret_arn

    def _instance(self, props: AccountingDatabaseProps) -> rds.DatabaseInstance:
        version = rds.MysqlEngineVersion.of(self._engine.version, self._engine.major_version)
        return rds.DatabaseInstance(
            self,
            "Instance",
            engine=rds.DatabaseInstanceEngine.mysql(version=version),
            # When this version leaves standard support RDS upgrades it, instead of billing extended support.
            engine_lifecycle_support=rds.EngineLifecycleSupport.OPEN_SOURCE_RDS_EXTENDED_SUPPORT_DISABLED,
            parameters=_PARAMETERS,
            credentials=rds.Credentials.from_password(USER_NAME, self._secret.secret_value),
            instance_type=ec2.InstanceType(props.instance_type.removeprefix("db.")),
            allocated_storage=props.storage_gib,
            storage_type=rds.StorageType.GP3,
            storage_encrypted=True,
            multi_az=props.multi_az,
            vpc=props.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=list(props.subnets)),
            security_groups=[self._server_security_group(props)],
            publicly_accessible=False,
            auto_minor_version_upgrade=True,
            backup_retention=cdk.Duration.days(props.backup_retention_days),
            delete_automated_backups=True,
            removal_policy=props.removal_policy,
        )

    def _server_security_group(self, props: AccountingDatabaseProps) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self,
            "ServerSecurityGroup",
            vpc=props.vpc,
            description="Slurm accounting: MySQL from the head node only",
            allow_all_outbound=False,
        )
        port = ec2.Port.tcp(self._engine.port)
        # The port by number: the instance's own attribute would make the rules wait for ten minutes.
        group.add_ingress_rule(self.client_security_group, port, "slurmdbd")
        self.client_security_group.add_egress_rule(group, port, "slurmdbd")
        without_default_egress(self.client_security_group)
        return group

    def _accept_findings(self, *, multi_az: bool) -> None:
        acknowledge(self._secret, _ACCEPTED_OF_PASSWORD)
        skip_checkov(self._secret.node.default_child, {"CKV_AWS_149": _AWS_MANAGED_KEY})
        acknowledge(self.instance, _ACCEPTED_OF_INSTANCE)
        if not multi_az:
            findings = ("AwsSolutions-RDS3", "NIST.800.53.R5-RDSMultiAZSupport")
            acknowledge(self.instance, dict.fromkeys(findings, _NO_STANDBY))
        skips = _CHECKOV_SKIPS_OF_INSTANCE if multi_az else {**_CHECKOV_SKIPS_OF_INSTANCE, "CKV_AWS_157": _NO_STANDBY}
        skip_checkov(self.instance.node.default_child, skips)
