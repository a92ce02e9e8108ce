"""Whether a Kubernetes object is valid: built-in kinds by Kubernetes' own schemas, others by those of their makers.

`kubernetes-validate` ships the schemas of Kubernetes, strict about unknown fields. Kinds of other makers are checked
with the schema that `CUSTOM_SCHEMAS` holds for them, and their templates as the jobs and pods that are made of them.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import kubernetes_validate  # type: ignore[import-untyped]

from neuron_constructs.kubernetes.software.mpi_job_definition import mpi_job_definition
from tests.kubernetes.job_set_schema import JOB_SET_SCHEMA, job_set_errors
from tests.kubernetes.queue_schemas import QUEUE_SCHEMAS

Schema = dict[str, Any]

# The library reads its schemas, up to 1 MB, for each object again.
kubernetes_validate.utils.schema_contents = cache(kubernetes_validate.utils.schema_contents)

_MPI_SCHEMA: Schema = mpi_job_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

CUSTOM_SCHEMAS: dict[tuple[str, str], Schema] = {
    ("kubeflow.org/v2beta1", "MPIJob"): _MPI_SCHEMA,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): JOB_SET_SCHEMA,
    **QUEUE_SCHEMAS,
}
"""openAPIV3Schema of kinds that Kubernetes does not have, by API version and kind."""


def errors_of(manifest: Mapping[str, Any], kubernetes_version: str) -> list[str]:
    """Return what is wrong with an object; nothing if it is valid.

    Args:
        manifest: the object.
        kubernetes_version: for example `1.35`.
    """
    kind = (manifest["apiVersion"], manifest["kind"])
    if kind in CUSTOM_SCHEMAS:
        errors = _schema_errors(manifest)
        if kind[1] == "JobSet" and not errors:
            errors = job_set_errors(manifest)
        return [*errors, *(error for each in _templates(manifest) for error in errors_of(each, kubernetes_version))]
    try:
        kubernetes_validate.validate(dict(manifest), kubernetes_version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{'.'.join(str(part) for part in error.absolute_path)}: {error.message}"]
    return []


@cache
def _validator(api_version: str, kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(as_json_schema(CUSTOM_SCHEMAS[api_version, kind]))


def _schema_errors(value: Mapping[str, Any]) -> list[str]:
    validator = _validator(value["apiVersion"], value["kind"])
    return [
        f"{'.'.join(str(part) for part in error.absolute_path)}: {error.message}"
        for error in sorted(validator.iter_errors(value), key=lambda error: error.json_path)
    ]


def as_json_schema(schema: Schema) -> Schema:
    """Return a structural schema of Kubernetes as a JSON schema that knows no field besides those it names.

    Kubernetes drops unknown fields, or refuses them for kubectl; a JSON schema would let them pass.

    Args:
        schema: openAPIV3Schema, or a part of one.
    """
    made = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    if "properties" in schema:
        made["properties"] = {name: as_json_schema(each) for name, each in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            made["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = as_json_schema(schema[key])
    if schema.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    if made.pop("nullable", False):
        made["type"] = [made["type"], "null"]
    return made


def _templates(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the jobs and pods that a value has templates of; the pod of a job is checked with its job."""
    if isinstance(value, list):
        for each in value:
            yield from _templates(each)
    if isinstance(value, dict):
        for key, each in value.items():
            spec = each.get("spec", {}) if key == "template" else {}
            if "template" in spec:
                yield {"apiVersion": "batch/v1", "kind": "Job", **_named(each)}
            elif "containers" in spec:
                yield {"apiVersion": "v1", "kind": "Pod", **_named(each)}
            else:
                yield from _templates(each)


def _named(template: Mapping[str, Any]) -> dict[str, Any]:
    return {**template, "metadata": {"name": "template", **template.get("metadata", {})}}
