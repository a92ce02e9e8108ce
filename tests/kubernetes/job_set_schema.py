"""A compact schema of JobSet with the fields that the job kit writes, and what JobSet's webhook refuses besides.

From kubernetes-sigs/jobset @08dfbdfd (0.12.0): charts/jobset/crds/jobset.x-k8s.io_jobsets.yaml (v1alpha2) and
pkg/webhooks/jobset_webhook.go. Compared field by field on 2026-11-23: the same limits or stricter ones.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_REASONS = ("BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy")
_ACTIONS = ("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts")
_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def _object(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_RULE = _object(
    {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": 128,
            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        },
        "action": {"enum": list(_ACTIONS)},
        "onJobFailureReasons": _list({"enum": list(_REASONS)}),
        "onJobFailureMessagePatterns": _TEXTS,
        "targetReplicatedJobs": _TEXTS,
    },
    "name",
    "action",
)
_REPLICATED_JOB = _object(
    {
        "name": _TEXT,
        "replicas": _COUNT,
        "dependsOn": {
            **_list(_object({"name": _TEXT, "status": {"enum": ["Ready", "Complete"]}}, "name", "status")),
            "maxItems": 5,
        },
        # Checked as a Job of Kubernetes.
        "template": _OPEN,
    },
    "name",
    "template",
)
_SPEC = _object(
    {
        "suspend": {"type": "boolean"},
        "ttlSecondsAfterFinished": _COUNT,
        "network": _object({"enableDNSHostnames": {"type": "boolean"}}),
        "successPolicy": _object({"operator": {"enum": ["All", "Any"]}, "targetReplicatedJobs": _TEXTS}, "operator"),
        "failurePolicy": _object(
            {
                "maxRestarts": _COUNT,
                "restartStrategy": {"enum": ["Recreate", "BlockingRecreate"]},
                "rules": _list(_RULE),
            }
        ),
        "replicatedJobs": {**_list(_REPLICATED_JOB), "minItems": 1},
    },
    "replicatedJobs",
)

JOB_SET_SCHEMA: Schema = _object(
    {
        "apiVersion": {"const": "jobset.x-k8s.io/v1alpha2"},
        "kind": {"const": "JobSet"},
        "metadata": _OPEN,
        "spec": _SPEC,
    },
    "apiVersion",
    "kind",
    "metadata",
    "spec",
)
"""openAPIV3Schema, strict."""


def job_set_errors(manifest: Mapping[str, Any]) -> list[str]:
    """Return what JobSet's webhook refuses in a JobSet that fits the schema: names that clash or are too long."""
    jobs = manifest["spec"]["replicatedJobs"]
    rules = manifest["spec"].get("failurePolicy", {}).get("rules", [])
    names = [job["name"] for job in jobs]
    targets = [name for rule in rules for name in rule.get("targetReplicatedJobs", ())]
    twice = {name for name in names if names.count(name) > 1}
    return [
        *(f"job {name} is there twice" for name in sorted(twice)),
        *(f"a rule is for {name}, which is no job" for name in targets if name not in names),
        *(["two rules have one name"] if len({rule["name"] for rule in rules}) < len(rules) else []),
        *(
            f"{job['name']} waits for {each['name']}, which does not come before it"
            for index, job in enumerate(jobs)
            for each in job.get("dependsOn", ())
            if each["name"] not in names[:index]
        ),
        *(f"{name} is not a name for a pod" for name in _pod_names(manifest) if not _LABEL.fullmatch(name)),
    ]


def _pod_names(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the longest name of a pod of each job."""
    for job in manifest["spec"]["replicatedJobs"]:
        last = job["template"]["spec"].get("completions", 1) - 1
        yield f"{manifest['metadata']['name']}-{job['name']}-{job.get('replicas', 1) - 1}-{last}-abcde"
