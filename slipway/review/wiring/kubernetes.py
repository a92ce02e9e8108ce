"""Kubernetes objects fit together: namespaces, bindings, roles, claims, and what EKS lets in."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slipway.review.changes.resources import Resource
from slipway.review.wiring.kubernetes_objects import (
    CHART,
    MANIFEST,
    KubernetesObject,
    KubernetesObjects,
    finding,
    quantity,
    without_account,
)
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, mapping, rows, texts

_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_AGGREGATED = ("admin", "cluster-admin", "edit", "view")
_SUBRESOURCES = ("/status", "/scale", "/finalizers")


@cache
def _api() -> Mapping[str, Any]:
    text = Path(__file__).with_name("kubernetes_api.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)  # type: ignore[no-any-return]


_LUSTRE_NAMES = {
    "volumeHandle": "",
    "volumeAttributes.dnsname": "DNSName",
    "volumeAttributes.mountname": "LustreMountName",
}
"""Where a PersistentVolume has which attribute of its file system; empty for the id."""


@rule(
    reason="kubectl refuses the object, and the deployment fails; of two with one name the second replaces the first.",
    fix="Make the namespace in a manifest that comes before, and give each object its own name.",
    source='Kubernetes documentation, "Namespaces" and "Object Names and IDs"',
)
def object_has_its_place(resources: Resources) -> Iterator[Finding]:
    """An object is in a namespace that the cluster gets, and no other has its kind and name there."""
    objects = KubernetesObjects(resources)
    seen: dict[tuple[str, str, str, str], KubernetesObject] = {}
    for found in objects.all:
        if found.namespace and (found.cluster, found.namespace) not in objects.namespaces:
            yield finding(found, "metadata.namespace", f"nothing makes the namespace {found.namespace}")
        if found.key in seen:
            yield finding(found, "metadata.name", f"{seen[found.key].owner.logical_id} has one of this name, too")
        seen[found.key] = found


@rule(
    reason="Kubernetes takes the binding, and nobody gets the role; a policy that no binding names refuses nothing.",
    fix="Name a role of the same namespace, and accounts and policies that exist.",
    source="Kubernetes API reference 1.35, RoleBinding and ValidatingAdmissionPolicyBinding",
)
def binding_names_what_exists(resources: Resources) -> Iterator[Finding]:
    """A binding names a role, accounts or a policy that exist, and each policy has a binding that denies."""
    objects = KubernetesObjects(resources)
    for binding in objects.of_kind(*_BINDINGS):
        yield from _role(objects, binding)
        for index, subject in enumerate(binding.at("subjects") or ()):
            if subject.get("kind") == "ServiceAccount":
                path = f"subjects[{index}].name"
                yield from without_account(objects, binding, path, subject.get("namespace", ""), subject["name"])
    bound = set()
    for binding in objects.of_kind("ValidatingAdmissionPolicyBinding"):
        name = str(binding.at("spec.policyName"))
        if objects.find(binding, "ValidatingAdmissionPolicy", name) is None:
            yield finding(binding, "spec.policyName", f"there is no ValidatingAdmissionPolicy {name}")
        if "Deny" in (binding.at("spec.validationActions") or ()):
            bound.add((binding.cluster, name))
    for policy in objects.of_kind("ValidatingAdmissionPolicy"):
        if (policy.cluster, policy.name) not in bound:
            yield finding(policy, "metadata.name", "no binding denies what it refuses")


def _role(objects: KubernetesObjects, binding: KubernetesObject) -> Iterator[Finding]:
    kind, name = str(binding.at("roleRef.kind")), str(binding.at("roleRef.name"))
    if kind == "ClusterRole" and (name in _AGGREGATED or name.startswith("system:")):
        return
    namespace = binding.namespace if kind == "Role" else ""
    if objects.find(binding, kind, name, namespace) is None and not objects.has_others(binding.cluster, namespace):
        yield finding(binding, "roleRef.name", f"there is no {kind} {name} in its place")


@rule(
    reason="RBAC takes any word: a role with a word that the API does not have allows nothing.",
    fix="Write the plural name of the resource, its API group, and verbs of the API.",
    source='Kubernetes documentation, "Using RBAC Authorization"',
)
def role_allows_what_the_api_has(resources: Resources) -> Iterator[Finding]:
    """A role names resources that their API groups serve, and verbs of the API."""
    for role in KubernetesObjects(resources).of_kind("Role", "ClusterRole"):
        for index, row in enumerate(role.at("rules") or ()):
            for verb in row.get("verbs", ()):
                if verb not in _api()["verbs"]:
                    yield finding(role, f"rules[{index}].verbs", f"{verb} is not a verb of the API")
            groups: Sequence[str] = row.get("apiGroups", ())
            served = [_api()["groups"].get(group) for group in groups]
            if None in served:
                continue  # the next rule's
            for resource in row.get("resources", ()):
                name = next((resource.removesuffix(one) for one in _SUBRESOURCES if resource.endswith(one)), resource)
                if name != "*" and not any(name in group for group in served):
                    shown = ", ".join(group or "core" for group in groups)
                    yield finding(role, f"rules[{index}].resources", f"{resource} is not a resource of {shown}")


@rule(
    severity="warning",
    reason="RBAC takes a group that the cluster does not serve, and the role allows nothing there.",
    fix="Write the group as the API has it, such as `jobset.x-k8s.io`; the core group is the empty text.",
    source='Kubernetes documentation, "API Groups"',
)
def role_names_groups_of_the_api(resources: Resources) -> Iterator[Finding]:
    """A role names API groups that Kubernetes or a controller of Slipway's serves."""
    for role in KubernetesObjects(resources).of_kind("Role", "ClusterRole"):
        for index, row in enumerate(role.at("rules") or ()):
            for group in row.get("apiGroups", ()):
                if group != "*" and group not in _api()["groups"]:
                    yield finding(role, f"rules[{index}].apiGroups", f"nothing here serves the group {group}")


@rule(
    severity="warning",
    reason="A role that no binding names gives nobody anything.",
    fix="Bind it to a group or an account, or leave it out.",
    source='Kubernetes documentation, "Using RBAC Authorization"',
)
def role_is_bound(resources: Resources) -> Iterator[Finding]:
    """A role has a binding."""
    objects = KubernetesObjects(resources)
    bound = {
        (binding.cluster, kind, binding.namespace if kind == "Role" else "", binding.at("roleRef.name"))
        for binding in objects.of_kind(*_BINDINGS)
        for kind in [binding.at("roleRef.kind")]
    }
    for role in objects.of_kind("Role", "ClusterRole"):
        # The rules of one with labels can be a part of another one's (aggregated ClusterRoles).
        if role.key not in bound and not (role.kind == "ClusterRole" and role.at("metadata.labels")):
            yield finding(role, "metadata.name", "no binding gives it to anybody")


@rule(
    reason="A claim that its volume does not fit stays pending, and so does every pod that uses it.",
    fix="Give both the same class, access modes and names, and the volume enough room.",
    source='Kubernetes documentation, "Persistent Volumes", Binding',
)
def claim_fits_its_volume(resources: Resources) -> Iterator[Finding]:
    """A claim and the volume that it names have the same class, access modes that fit, enough room, and each other."""
    objects = KubernetesObjects(resources)
    for claim in objects.of_kind("PersistentVolumeClaim"):
        name = claim.at("spec.volumeName")
        if name is None:
            continue
        volume = objects.find(claim, "PersistentVolume", name)
        if volume is None:
            yield finding(claim, "spec.volumeName", f"there is no PersistentVolume {name}")
            continue
        if claim.at("spec.storageClassName") != volume.at("spec.storageClassName"):
            yield finding(claim, "spec.storageClassName", f"{volume.title} has another class")
        if not set(claim.at("spec.accessModes") or ()) <= set(volume.at("spec.accessModes") or ()):
            yield finding(claim, "spec.accessModes", f"{volume.title} does not have them")
        wanted, room = quantity(claim.at("spec.resources.requests.storage")), quantity(_capacity(volume))
        if wanted is not None and room is not None and wanted > room:
            yield finding(claim, "spec.resources.requests.storage", f"{volume.title} has {_capacity(volume)}")


def _capacity(volume: KubernetesObject) -> Any:
    return volume.at("spec.capacity.storage")


@rule(
    severity="warning",
    reason="A volume that is kept for another claim binds to nobody, and pods of the right claim wait.",
    fix="Write the claim's namespace and name into `claimRef`, and the volume's into the claim.",
    source='Kubernetes documentation, "Persistent Volumes", Reserving a PersistentVolume',
)
def volume_is_kept_for_its_claim(resources: Resources) -> Iterator[Finding]:
    """A volume that is kept for a claim is the one that the claim names."""
    objects = KubernetesObjects(resources)
    for volume in objects.of_kind("PersistentVolume"):
        name, namespace = (str(volume.at(f"spec.claimRef.{part}") or "") for part in ("name", "namespace"))
        claim = objects.find(volume, "PersistentVolumeClaim", name, namespace)
        if name and (claim is None or claim.at("spec.volumeName") not in (None, volume.name)):
            yield finding(volume, "spec.claimRef", f"no PersistentVolumeClaim {namespace}/{name} is for it")


@rule(
    reason="The CSI driver mounts a name that the file system does not have: no pod can mount it.",
    fix="Write the file system's id as `volumeHandle`, its DNSName as `dnsname`, its LustreMountName as `mountname`.",
    source="kubernetes-sigs/aws-fsx-csi-driver, examples/kubernetes/static_provisioning/README.md",
)
def volume_names_its_file_system(resources: Resources) -> Iterator[Finding]:
    """The handle, DNS name and mount name of a PersistentVolume are those of one file system."""
    for volume in KubernetesObjects(resources).of_kind("PersistentVolume"):
        handle = resources.referred(volume.at("spec.csi.volumeHandle"))
        for path, attribute in _LUSTRE_NAMES.items() if volume.at("spec.csi.driver") == "fsx.csi.aws.com" else ():
            found = resources.referred(volume.at(f"spec.csi.{path}"))
            if found and (found[1] != attribute or (handle and found[0] is not handle[0])):
                yield finding(volume, f"spec.csi.{path}", f"it is not the {attribute or 'id'} of the file system")


@rule(
    reason="An association for an account that is not there gives nobody rights.",
    fix="Write the namespace and the name of a ServiceAccount of a manifest.",
    source='Amazon EKS user guide, "Learn how EKS Pod Identity grants pods access to AWS services"',
)
def pod_identity_is_for_an_account(resources: Resources) -> Iterator[Finding]:
    """An EKS Pod Identity association names a service account that exists."""
    objects = KubernetesObjects(resources)
    accounts = {(one.cluster, one.namespace, one.name) for one in objects.of_kind("ServiceAccount")}
    for association in resources.of_type("AWS::EKS::PodIdentityAssociation"):
        cluster, namespace, name = (
            str(association.at(part)) for part in ("ClusterName", "Namespace", "ServiceAccount")
        )
        known = (cluster, namespace, name) in accounts or objects.has_others(cluster, namespace)
        if objects.all and not known:
            yield about(association, "ServiceAccount", f"there is no ServiceAccount {namespace}/{name}")


@rule(
    severity="warning",
    reason="Somebody who is let in with a group that no binding names may do nothing.",
    fix="Bind a role to the group, or name a group that has one.",
    source='Amazon EKS user guide, "Create access entries"',
)
def group_of_an_access_entry_is_bound(resources: Resources) -> Iterator[Finding]:
    """A group of an EKS access entry has a role."""
    objects = KubernetesObjects(resources)
    bound = {
        (binding.cluster, subject.get("name"))
        for binding in objects.of_kind(*_BINDINGS)
        for subject in binding.at("subjects") or ()
        if subject.get("kind") == "Group"
    }
    for entry in resources.of_type("AWS::EKS::AccessEntry"):
        for group in texts(entry.at("KubernetesGroups")):
            if objects.all and (str(entry.at("ClusterName")), group) not in bound:
                yield about(entry, "KubernetesGroups", f"no binding has the group {group}")


@rule(
    reason="The API server refuses cluster-wide objects: the stack fails.",
    fix="Give the role that applies manifests AmazonEKSClusterAdminPolicy with the scope `cluster`.",
    source='Amazon EKS user guide, "Review access policy permissions"',
)
def kubectl_is_an_administrator(resources: Resources) -> Iterator[Finding]:
    """If the creator of a cluster is no administrator, a role of the stacks has an administrator's access entry."""
    for cluster in resources.of_type("AWS::EKS::Cluster"):
        named = f"${{{cluster.key}}}"
        applied = any(each.at("ClusterName") == named for each in resources.of_type(MANIFEST, CHART))
        creator = cluster.at("AccessConfig.BootstrapClusterCreatorAdminPermissions")
        entries = [each for each in resources.of_type("AWS::EKS::AccessEntry") if each.at("ClusterName") == named]
        roles = [each for each in entries if resources.resource(each.at("PrincipalArn"), "AWS::IAM::Role")]
        if applied and creator is False and roles and not any(is_administrator(each) for each in roles):
            yield about(roles[0], "AccessPolicies", "no role of the stacks may apply cluster-wide objects")


def is_administrator(entry: Resource) -> bool:
    """Return whether an access entry gives its principal all rights in the whole cluster."""
    return any(
        "AmazonEKSClusterAdminPolicy" in str(policy.get("PolicyArn"))
        and mapping(policy.get("AccessScope")).get("Type") == "cluster"
        for policy in rows(entry.at("AccessPolicies"))
    )


@rule(
    reason="EKS refuses access entries: neither kubectl nor nodes have access.",
    fix="Write `AuthenticationMode: API`.",
    source='Amazon EKS user guide, "Change authentication mode to use access entries"',
)
def cluster_takes_access_entries(resources: Resources) -> Iterator[Finding]:
    """A cluster with access entries has an authentication mode that allows them."""
    for entry in resources.of_type("AWS::EKS::AccessEntry"):
        cluster = resources.resource(entry.at("ClusterName"), "AWS::EKS::Cluster")
        if cluster and "API" not in str(cluster.at("AccessConfig.AuthenticationMode")):
            yield about(cluster, "AccessConfig.AuthenticationMode", f"{entry.logical_id} needs the mode API")
