from slipway.rehearse import findings
from slipway.rehearse.ledger import DeviationEntry, Entry, HeldBackEntry, ResourceEntry, SeedEntry
from tests.rehearse.fakes import resource

BUCKET = "AWS::S3::Bucket"
LEDGER: list[Entry] = [
    SeedEntry(kind="seed", what="AMI", why="a Region has it"),
    DeviationEntry(kind="deviation", name="short ids", why="FSx ids have 17 digits"),
    DeviationEntry(kind="deviation", name="short ids", why="FSx ids have 17 digits"),
    *(
        ResourceEntry.model_validate(line)
        for line in (
            resource("create", "storage", "Models", BUCKET, unmapped=["AccessControl"]),
            resource("create", "storage", "Data", BUCKET, unmapped=["AccessControl", "Tags.0"]),
            resource("create", "storage", "Emptier", "Custom::S3AutoDeleteObjects", backing="lambda"),
            resource("create", "trainium", "Wait", "AWS::CloudFormation::WaitCondition", backing="record"),
            resource("create", "storage", "Mesh", "AWS::AppMesh::Mesh"),
            resource("update", "storage", "Data", BUCKET),
            resource("failed", "storage", "Topic", reason="too\nlong " * 200),
            resource("failed", "storage", "Topic", reason="too\nlong " * 200),
            resource("rollback", "storage", "Models", BUCKET),
            resource("delete", "storage", "Data", BUCKET),
        )
    ),
    HeldBackEntry(kind="held_back", stack="storage", logical_id="Data", what="a Deny", why="it locks everyone out"),
]


def test_types_are_counted_by_what_stood_behind() -> None:
    counts = {row.type: (row.created, row.backing) for row in findings.types(LEDGER)}
    assert counts[BUCKET] == (2, {"api": 2})
    assert counts["Custom::S3AutoDeleteObjects"] == (1, {"lambda": 1})
    assert counts["AWS::CloudFormation::WaitCondition"] == (1, {"record": 1})


def test_the_app_s_stacks_come_first_even_when_nothing_happened_in_them() -> None:
    storage, training, cluster = findings.stacks(
        LEDGER, frozenset({"training", "storage"}), {"storage": {"Name": "models"}}
    )
    assert (storage.created, storage.updated, storage.deleted) == (4, 1, 2)
    assert storage.outputs == {"Name": "models"}
    assert (training.name, training.created) == ("training", 0)
    assert (storage.origin, cluster.name, cluster.origin) == ("app", "trainium", "resource")


def test_what_was_not_rehearsed_is_named() -> None:
    unproven = findings.not_rehearsed(LEDGER)
    assert [record.logical_id for record in unproven.records] == ["Wait"]
    assert [(row.type, row.properties) for row in unproven.unmapped] == [(BUCKET, ("AccessControl", "Tags.0"))]
    assert [(row.logical_id, row.type) for row in unproven.held_back] == [("Data", BUCKET)]
    assert [row.name for row in unproven.deviations] == ["short ids"]
    assert unproven.ledger_only == ("AWS::AppMesh::Mesh",)
    assert len(unproven.limits) >= 10


def test_failures_have_a_readable_reason() -> None:
    (failure,) = findings.failures(LEDGER)
    assert failure.logical_id == "Topic"
    assert failure.reason.startswith("too long too long")
    assert len(failure.reason) <= 400


def test_seeds_are_told() -> None:
    assert [seed.what for seed in findings.seeds(LEDGER)] == ["AMI"]
