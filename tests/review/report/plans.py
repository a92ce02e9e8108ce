"""Plans for the tests of the renderings, with everything that a plan can have."""

from datetime import date

from slipway.review.changes.model import Changes, PropertyChange, ResourceChange, WiderAccess
from slipway.review.cost.model import Cost, CostLine
from slipway.review.deploy_time.model import DeployTime, Step
from slipway.review.plan import ClusterUpdate, Comparison, Plan
from slipway.review.security.model import Acknowledgement, Security, SecurityDelta, SecurityFinding

STORAGE, TRAINING, NETWORK, INFERENCE = (
    f"slipway-default-{role}" for role in ("storage", "training", "network", "inference")
)
FILE_SYSTEM = "LustreFileSystem46590C25"
CLUSTER = "ClusterEB0386A7"


def priced(stack: str, what: str, idle: float, peak: float) -> CostLine:
    return CostLine(
        stack=stack,
        logical_id=what.replace(" ", ""),
        resource_type="AWS::EC2::Instance",
        what=what,
        billing="priced",
        item=what,
        unit_usd=1.0,
        unit="hour",
        idle_quantity=idle,
        peak_quantity=peak,
        idle_usd_per_hour=idle,
        peak_usd_per_hour=peak,
    )


def unpriced(stack: str, what: str, billing: str, note: str | None = None) -> CostLine:
    return CostLine.model_validate(
        {
            "stack": stack,
            "logical_id": what,
            "resource_type": "AWS::Logs::LogGroup",
            "what": what,
            "billing": billing,
            "note": note,
            "idle_quantity": 1.0,
            "peak_quantity": 1.0,
        }
    )


def without_price(line: CostLine) -> CostLine:
    """The same line in a Region whose prices are not known."""
    no_price = {"billing": "unknown", "unit_usd": None, "idle_usd_per_hour": None, "peak_usd_per_hour": None}
    return line.model_copy(update={**no_price, "note": "no prices of eu-north-1"})


COST = Cost(
    region="us-west-2",
    lines=(
        priced(NETWORK, "NAT gateway", 0.045, 0.045),
        priced(STORAGE, "FSx for Lustre, 4800 GiB at 250 MB/s/TiB", 1.3808, 1.3808),
        priced(TRAINING, "head node, m6i.2xlarge", 0.384, 0.384),
        priced(TRAINING, "queue trn1, trn1.32xlarge", 0.0, 86.0),
        unpriced(NETWORK, "flow logs", "by_use"),
        unpriced(TRAINING, "logs", "by_use"),
        unpriced(INFERENCE, "inference hosts, inf2.48xlarge", "unknown", "no price for inf2.48xlarge in us-west-2"),
    ),
    prices_as_of=date(2026, 1, 19),
    free_types={"AWS::IAM::Role": 11, "AWS::EC2::Subnet": 4},
)
BASE_COST = COST.model_copy(
    update={"lines": (*COST.lines[:3], priced(TRAINING, "queue trn1, trn1.32xlarge", 0.0, 43.0), *COST.lines[4:])}
)
FINDING = SecurityFinding(
    tool="cdk-nag AwsSolutions",
    rule="AwsSolutions-S10",
    severity="error",
    stack=STORAGE,
    resource="Data2D4B752F",
    message="The S3 Bucket or bucket policy does not require requests to use SSL.",
)
ACKNOWLEDGEMENT = Acknowledgement(
    rule="AwsSolutions-IAM5",
    stack=TRAINING,
    resource="ScriptPolicy2B1AAE13",
    reason="The head node lists the nodes of its own cluster; EC2 has no narrower resource for it.",
)
FIRST_TIME = DeployTime(
    seconds=2700,
    chain=(
        Step(stack=NETWORK, logical_id="NetworkVpc7FB7348F", type="AWS::EC2::VPC", seconds=60, is_known=True),
        Step(stack=STORAGE, logical_id=FILE_SYSTEM, type="AWS::FSx::FileSystem", seconds=780, is_known=True),
        Step(
            stack=STORAGE,
            logical_id="LustreDataRepository95D81F00",
            type="AWS::FSx::DataRepositoryAssociation",
            seconds=660,
            is_known=True,
        ),
        Step(stack=TRAINING, logical_id=CLUSTER, type="Custom::PclusterCluster", seconds=1200, is_known=False),
    ),
    one_stack_after_another_seconds=3600,
    without_estimate=("Custom::PclusterCluster",),
)
PLAN = Plan(
    environment="default",
    region="us-west-2",
    head="working tree at 25e20de",
    cost=COST,
    security=Security(
        findings=(), acknowledgements=(ACKNOWLEDGEMENT,), not_checked=("checkov did not run: it is not installed.",)
    ),
    deploy_time=FIRST_TIME,
)
REPLACED = ResourceChange(
    stack=STORAGE,
    logical_id=FILE_SYSTEM,
    construct_path="slipway-default-storage/Lustre/FileSystem/Resource",
    type="AWS::FSx::FileSystem",
    effect="replace",
    loses_data=True,
    properties=(
        PropertyChange(
            path="LustreConfiguration.DeploymentType", before="PERSISTENT_2", after="SCRATCH_2", effect="replace"
        ),
        PropertyChange(path="LustreConfiguration.PerUnitStorageThroughput", before=250, after=None, effect="replace"),
    ),
    notes=("FSx makes no final backup of this file system: what only it holds is gone.",),
)
FOLLOWERS = tuple(
    ResourceChange(
        stack=STORAGE,
        logical_id=f"Lustre{name}Repository",
        construct_path=f"slipway-default-storage/Lustre/{name}Repository",
        type="AWS::FSx::DataRepositoryAssociation",
        effect="replace",
        loses_data=False,
        caused_by=f"{STORAGE}/{FILE_SYSTEM}",
    )
    for name in ("Data", "Checkpoint")
)
UPDATED = ResourceChange(
    stack=TRAINING,
    logical_id=CLUSTER,
    construct_path="slipway-default-training/Cluster/Resource/Default",
    type="Custom::PclusterCluster",
    effect="update",
    loses_data=False,
    properties=(
        PropertyChange(
            path="ClusterConfiguration.Scheduling.SlurmQueues[trn1].ComputeResources[trn1-32xl].MaxCount",
            before=2,
            after=4,
            effect="update",
        ),
    ),
)
ADDED = ResourceChange(
    stack=INFERENCE,
    logical_id="ModelsTanuki8bServiceA18DBBE7",
    construct_path="slipway-default-inference/Models/Tanuki8b/Service/Service/Service",
    type="AWS::ECS::Service",
    effect="add",
    loses_data=False,
)
REMOVED = ResourceChange(
    stack=NETWORK,
    logical_id="NetworkVpcPublicSubnet2NATGateway",
    construct_path="slipway-default-network/Network/Vpc/PublicSubnet2/NATGateway",
    type="AWS::EC2::NatGateway",
    effect="remove",
    loses_data=False,
)
BROADENING = WiderAccess(
    stack=INFERENCE,
    resource="EndpointSecurityGroup3A4D971B",
    kind="security_group",
    harm="public",
    what="Ingress tcp 443 from 0.0.0.0/0",
)
UNPROTECTED = WiderAccess(
    stack=STORAGE,
    resource=FILE_SYSTEM,
    kind="protection",
    harm="data_loss",
    what="Backups are kept for 0 days instead of 7",
)
CHANGES = Changes(
    resources=(ADDED, UPDATED, *FOLLOWERS, REPLACED, REMOVED),
    broadenings=(BROADENING,),
    asset_changes=(f"{TRAINING}/NodeScriptsDeployment",),
)
COMPARED = PLAN.model_copy(
    update={
        "comparison": Comparison(
            base="main",
            changes=CHANGES,
            notes=("The base has other requirements.txt: it was synthesized with its own packages.",),
            cluster_update=ClusterUpdate(
                verdict="nodes_must_stop", lines=("Queue trn1: its nodes must be stopped before MaxCount can change.",)
            ),
            cost=BASE_COST,
            security=SecurityDelta(
                new=(FINDING,), gone_acknowledgements=(ACKNOWLEDGEMENT,), not_checked=("checkov did not run.",)
            ),
            deploy_time=FIRST_TIME.model_copy(update={"seconds": 2640, "chain": FIRST_TIME.chain[1:]}),
        )
    }
)
assert COMPARED.comparison
REFUSED = COMPARED.model_copy(
    update={
        "comparison": COMPARED.comparison.model_copy(
            update={
                "cluster_update": ClusterUpdate(
                    verdict="cannot_update", lines=("HeadNode/Networking/SubnetId: it cannot change.",)
                )
            }
        )
    }
)
"""The comparison, with a change of the cluster that ParallelCluster refuses."""

UNPRICED_COST = COST.model_copy(
    update={
        "lines": tuple(without_price(line) if line.billing == "priced" else line for line in COST.lines),
        "prices_as_of": None,
    }
)
UNPRICED = COMPARED.model_copy(update={"cost": UNPRICED_COST})
"""The comparison, without a price in what is planned."""

UNCHANGED = PLAN.model_copy(
    update={
        "comparison": Comparison(
            base="main",
            changes=Changes(),
            cluster_update=ClusterUpdate(verdict="no_change"),
            cost=COST,
            security=SecurityDelta(),
            deploy_time=DeployTime(seconds=0, chain=(), one_stack_after_another_seconds=0),
        )
    }
)
