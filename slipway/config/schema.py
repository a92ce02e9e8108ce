"""The JSON schema of environment files, for editors: `python -m slipway.config.schema` writes it to environments/."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.rules.offerings import node_types, plain_types, serving_types
from slipway.config.rules.storage import LUSTRE_DEPLOYMENT, OPEN_ZFS_DEPLOYMENT
from slipway.config.training import Training

SCHEMA_FILE = Path(__file__).parents[2] / "environments" / "schema.json"

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def environment_schema() -> dict[str, Any]:
    """Return the schema: the models' types, texts and limits, and the values that the facts know."""
    schema = Environment.model_json_schema()
    sections = {"Environment": schema, **schema["$defs"]}
    for (section, field), keywords in _keywords_from_facts().items():
        described = sections[section]["properties"][field]
        # An optional field is text or nothing: the keywords are about the text.
        described.get("anyOf", [described])[0].update(keywords)
    return {"$schema": _DIALECT, **schema}


def schema_text() -> str:
    """Return the content of environments/schema.json."""
    return json.dumps(environment_schema(), indent=2, ensure_ascii=False) + "\n"


def _keywords_from_facts() -> dict[tuple[str, str], dict[str, Any]]:
    """Return what the facts add to a field's schema, by section and field: an editor offers the values."""
    plain = _one_of(row.name for row in plain_types())
    any_plain = _or_cpu_type(plain)
    stacks = _one_of(facts.training_stacks())
    open_zfs = facts.open_zfs_deployment(OPEN_ZFS_DEPLOYMENT)
    release = facts.parallelcluster_release(Training.model_fields["parallelcluster_version"].default)
    queue_name = {"pattern": release.queue_name_pattern, "maxLength": release.max_queue_name_length}
    cluster_name = {"pattern": release.cluster_name_pattern, "maxLength": release.max_cluster_name_length}
    return {
        ("Environment", "region"): _one_of(facts.regions()),
        ("Kubernetes", "version"): _one_of(facts.kubernetes_versions()),
        ("Kubernetes", "training_stack"): _one_of(row.name for row in facts.training_stacks().values() if row.job_kit),
        ("CoreNodes", "instance_type"): plain,
        ("NodeGroup", "instance_type"): _one_of(facts.instance_types()),
        ("Home", "capacity_gib"): {
            "minimum": open_zfs.smallest_capacity_gib,
            "maximum": open_zfs.largest_capacity_gib,
        },
        ("Home", "throughput_mb_s"): _one_of(open_zfs.throughputs),
        ("AccountingDatabase", "instance_type"): _one_of(facts.database_instance_types()),
        ("Lustre", "throughput_mb_s_per_tib"): _one_of(facts.lustre_deployment(LUSTRE_DEPLOYMENT).throughputs),
        ("Training", "cluster_name"): cluster_name,
        ("Training", "parallelcluster_version"): _one_of(facts.parallelcluster_releases()),
        ("Training", "operating_system"): _one_of(release.operating_systems),
        ("Training", "training_stack"): stacks,
        ("HeadNode", "instance_type"): any_plain,
        ("LoginNodes", "instance_type"): any_plain,
        ("Queue", "name"): queue_name,
        ("Queue", "training_stack"): stacks,
        ("ComputeResource", "name"): queue_name,
        ("ComputeResource", "instance_type"): _or_cpu_type(_one_of(row.name for row in node_types())),
        ("ServedModel", "engine"): _one_of(facts.inference_engines()),
        ("ServedModel", "instance_type"): _one_of(row.name for row in serving_types()),
    }


def _or_cpu_type(known: dict[str, Any]) -> dict[str, Any]:
    """Return what an editor offers, and beside it any CPU type."""
    letters = "|".join(facts.quota(facts.instance_family("cpu").on_demand_quota).instance_letters)
    return {"anyOf": [known, {"pattern": rf"^({letters})[0-9]+[a-z-]*\.[0-9a-z]+$"}]}


def _one_of(values: Iterable[object]) -> dict[str, Any]:
    return {"enum": list(values)}


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
