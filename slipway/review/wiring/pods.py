"""Pods find what they use, and a node that takes them."""

from collections.abc import Iterator, Mapping
from typing import Any

from slipway.review.changes.references import references
from slipway.review.wiring.kubernetes_objects import (
    DEFAULT_ACCOUNT,
    KubernetesObjects,
    PodTemplate,
    finding,
    quantity,
    without_account,
)
from slipway.review.wiring.registry import Finding, rule
from slipway.review.wiring.resources import Resources, mapping, rows

_REFERENCE = "Kubernetes API reference 1.35"
_WORKLOADS = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
USER_ID_LABEL = "slipway/user-id"
"""Label of a namespace whose pods run as one user."""

_OF_EVERY_NAMESPACE = "kube-root-ca.crt"
_WELL_KNOWN = (
    "kubernetes.io/",
    "node.kubernetes.io/",
    "topology.kubernetes.io/",
    "eks.amazonaws.com/",
    "karpenter.sh/",
)
"""Beginnings of labels that nodes get from Kubernetes and EKS."""


@rule(
    reason="The pod waits forever for what is not there, or is refused.",
    fix="Name an account, a claim or a map of the pod's namespace, and mount volumes of the pod.",
    source=f"{_REFERENCE}, PodSpec",
)
def pod_uses_what_exists(resources: Resources) -> Iterator[Finding]:
    """Pods use accounts, claims and maps of their namespace, and mount volumes that they have."""
    objects = KubernetesObjects(resources)
    for pods in objects.pod_templates:
        user, spec = pods.object, pods.spec
        name = spec.get("serviceAccountName", DEFAULT_ACCOUNT)
        yield from without_account(objects, user, f"{pods.path}.spec.serviceAccountName", user.namespace, name)
        for path, kind, wanted in _uses(pods):
            is_there = objects.find(user, kind, wanted, user.namespace) or objects.has_others(*user.home)
            if not is_there:
                yield finding(user, path, f"there is no {kind} {user.namespace}/{wanted}")
        volumes = {volume["name"] for volume in spec.get("volumes", ())}
        for path, container in pods.containers:
            for mount in container.get("volumeMounts", ()):
                if mount["name"] not in volumes:
                    yield finding(user, f"{path}.volumeMounts", f"the pod has no volume {mount['name']}")


def _uses(pods: PodTemplate) -> Iterator[tuple[str, str, str]]:
    """Yield path, kind and name of what the pods cannot do without; secrets come from elsewhere, and rightly so."""
    for index, volume in enumerate(pods.spec.get("volumes", ())):
        path = f"{pods.path}.spec.volumes[{index}]"
        for part, name, kind in (
            ("persistentVolumeClaim", "claimName", "PersistentVolumeClaim"),
            ("configMap", "name", "ConfigMap"),
        ):
            if part in volume and not volume[part].get("optional") and volume[part].get(name) != _OF_EVERY_NAMESPACE:
                yield f"{path}.{part}", kind, volume[part].get(name, "")
    for path, container in pods.containers:
        for row in container.get("env", ()):
            wanted = row.get("valueFrom", {}).get("configMapKeyRef")
            if wanted and not wanted.get("optional"):
                yield f"{path}.env", "ConfigMap", wanted["name"]


@rule(
    reason="Kubernetes refuses a workload that does not select its own pods.",
    fix="Write the labels of the pods' template.",
    source=f"{_REFERENCE}, Deployment",
)
def workload_selects_its_pods(resources: Resources) -> Iterator[Finding]:
    """A workload selects the pods of its template."""
    for pods in KubernetesObjects(resources).pod_templates:
        wanted = pods.object.at("spec.selector.matchLabels") or {}
        if pods.object.kind in _WORKLOADS and (not wanted or not wanted.items() <= pods.labels.items()):
            yield finding(pods.object, "spec.selector", "it does not select the pods of its template")


@rule(
    severity="warning",
    reason="A service without pods, or with a port that they do not have, answers nobody.",
    fix="Write labels of the pods, and a port that their containers declare.",
    source=f"{_REFERENCE}, Service",
)
def service_finds_its_pods(resources: Resources) -> Iterator[Finding]:
    """A service selects pods of its namespace that have its ports."""
    objects = KubernetesObjects(resources)
    templates = list(objects.pod_templates)
    for service in objects.of_kind("Service"):
        selector = service.at("spec.selector")
        if not selector or objects.has_others(*service.home):
            continue
        near = [pods for pods in templates if pods.object.home == service.home]
        found = [pods for pods in near if selector.items() <= pods.labels.items()]
        if not found:
            yield finding(service, "spec.selector", "it selects no pods of its namespace")
        for index, port in enumerate(service.at("spec.ports") or ()):
            target = port.get("targetPort", port.get("port"))
            if any(target not in pods.ports for pods in found):
                yield finding(service, f"spec.ports[{index}].targetPort", f"its pods declare no port {target}")


@rule(
    reason="A probe of a port that nothing listens on never succeeds: the pod is never ready, or restarts forever.",
    fix="Probe a port that the container declares.",
    source=f"{_REFERENCE}, Probe",
)
def probe_asks_a_port_of_its_container(resources: Resources) -> Iterator[Finding]:
    """A probe asks a port that its container declares."""
    for pods in KubernetesObjects(resources).pod_templates:
        for path, container in pods.containers:
            ports = container.get("ports", ())
            declared = {port[name] for port in ports for name in ("containerPort", "name") if name in port}
            for name in ("livenessProbe", "readinessProbe", "startupProbe"):
                for way in ("httpGet", "tcpSocket", "grpc"):
                    port = container.get(name, {}).get(way, {}).get("port")
                    if port is not None and port not in declared:
                        yield finding(pods.object, f"{path}.{name}", f"the container declares no port {port}")


@rule(
    reason="A pod that no node takes stays pending, and nothing says so but the pod.",
    fix="Write labels of a node group into `nodeSelector`, and tolerate that group's taints.",
    source='Kubernetes documentation, "Assigning Pods to Nodes" and "Taints and Tolerations"',
)
def pod_fits_a_node_group(resources: Resources) -> Iterator[Finding]:
    """There is a node group with the labels that pods select and no taint that they do not tolerate."""
    objects = KubernetesObjects(resources)
    for pods in objects.pod_templates:
        groups = objects.node_groups(pods.object.cluster)
        if not groups:
            continue
        selected = {
            name: value
            for name, value in mapping(pods.spec.get("nodeSelector")).items()
            if not name.startswith(_WELL_KNOWN)
        }
        labelled = [group for group in groups if selected.items() <= mapping(group.at("Labels")).items()]
        if not labelled:
            shown = ", ".join(f"{name}={value}" for name, value in selected.items())
            yield finding(pods.object, f"{pods.path}.spec.nodeSelector", f"no node group has the labels {shown}")
        elif all(_repelled(pods, rows(group.at("Taints"))) for group in labelled):
            names = ", ".join(group.logical_id for group in labelled)
            yield finding(pods.object, f"{pods.path}.spec.tolerations", f"the taints of {names} are not tolerated")


def _repelled(pods: PodTemplate, taints: Any) -> bool:
    return not tolerates_all(pods.spec.get("tolerations", ()), taints)


def tolerates_all(tolerations: Any, taints: Any) -> bool:
    """Return whether tolerations allow pods to run on nodes with these taints."""
    hard = [taint for taint in taints if str(taint.get("Effect")) in ("NO_SCHEDULE", "NO_EXECUTE")]
    return all(any(_tolerates(one, taint) for one in tolerations) for taint in hard)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    effect = str(taint.get("Effect")).title().replace("_", "")
    if toleration.get("effect") not in (None, "", effect) or toleration.get("key") not in (None, "", taint.get("Key")):
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("Value", "")


@rule(
    severity="warning",
    reason="Without a token a pod cannot use the Kubernetes API, whatever its service account may do.",
    fix="Write `automountServiceAccountToken: true`, or remove the binding.",
    source='Kubernetes documentation, "Configure Service Accounts for Pods"',
)
def pods_with_rights_have_a_token(resources: Resources) -> Iterator[Finding]:
    """If a binding names a service account, at least some of its pods mount a token."""
    objects = KubernetesObjects(resources)
    bound = {
        (binding.cluster, str(subject.get("namespace", "")), str(subject.get("name")))
        for binding in objects.of_kind("RoleBinding", "ClusterRoleBinding")
        for subject in binding.at("subjects") or ()
        if subject.get("kind") == "ServiceAccount"
    }
    by_account: dict[tuple[str, str, str], list[PodTemplate]] = {}
    for pods in objects.pod_templates:
        name = str(pods.spec.get("serviceAccountName") or DEFAULT_ACCOUNT)
        by_account.setdefault((*pods.object.home, name), []).append(pods)
    for account, users in by_account.items():
        if account in bound and all(each.spec.get("automountServiceAccountToken") is False for each in users):
            path = f"{users[0].path}.spec.automountServiceAccountToken"
            yield finding(
                users[0].object, path, f"a binding names the service account {account[2]}, and its pods mount no token"
            )


@rule(
    reason="The API server refuses a request above its limit, and no node has a resource with a misspelt name.",
    fix="Write no more than the limit, and the names of Kubernetes and of the cluster's device plugins.",
    source='Kubernetes documentation, "Resource Management for Pods and Containers"',
)
def container_asks_for_what_nodes_have(resources: Resources) -> Iterator[Finding]:
    """A container asks for resources that nodes have, and for no more than its limit."""
    for pods in KubernetesObjects(resources).pod_templates:
        for path, container in pods.containers:
            asked, limits = (container.get("resources", {}).get(part, {}) for part in ("requests", "limits"))
            for name in {**asked, **limits}:
                if not _is_resource(name):
                    yield finding(pods.object, f"{path}.resources", f"no node has a resource {name}")
                one, most = quantity(asked.get(name)), quantity(limits.get(name))
                if one is not None and most is not None and one > most:
                    yield finding(pods.object, f"{path}.resources", f"it asks for more {name} than its limit")


def _is_resource(name: str) -> bool:
    """Whether Kubernetes, the Neuron plugin or the EFA plugin has a resource of this name."""
    return name in (
        *("cpu", "memory", "ephemeral-storage", "vpc.amazonaws.com/efa"),
        *("aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice"),
    ) or name.startswith("hugepages-")


@rule(
    reason="The namespace's admission policy refuses the pods, or they write files as another user.",
    fix="Write the same user id into the namespace's label and into the pods.",
    source="the admission policy slipway-own-user, which compares them",
)
def pods_run_as_their_namespaces_user(resources: Resources) -> Iterator[Finding]:
    """Pods in a namespace with the label slipway/user-id run as that user."""
    objects = KubernetesObjects(resources)
    for pods in objects.pod_templates:
        namespace = objects.find(pods.object, "Namespace", pods.object.namespace)
        wanted = (namespace.at("metadata.labels") or {}).get(USER_ID_LABEL) if namespace else None
        places = [(f"{pods.path}.spec", pods.spec), *pods.containers]
        for path, place in places if wanted is not None else ():
            user = (place.get("securityContext") or {}).get("runAsUser")
            if user is not None and str(user) != str(wanted):
                yield finding(
                    pods.object, f"{path}.securityContext.runAsUser", f"{user} is not the namespace's {wanted}"
                )


@rule(
    severity="warning",
    reason="The image does not exist: the pods never start.",
    fix="Use the tag that the build pushes.",
    source="Kubernetes documentation, Images; the build's environment variables",
)
def image_is_one_that_a_build_pushes(resources: Resources) -> Iterator[Finding]:
    """A pod's image from a repository of the stacks has a tag that a CodeBuild project pushes."""
    pushed: dict[str, set[str]] = {}
    for build in resources.of_type("AWS::CodeBuild::Project"):
        variables = rows(build.at("Environment.EnvironmentVariables"))
        tags = {str(row.get("Value")) for row in variables if "TAG" in str(row.get("Name"))}
        for key, _ in references(variables) if tags else ():
            pushed.setdefault(key, set()).update(tags)
    for pods in KubernetesObjects(resources).pod_templates:
        for path, container in pods.containers:
            image = str(container.get("image", ""))
            tags = {tag for key, _ in references(image) for tag in pushed.get(key, ())}
            if "@" not in image and tags and image.rpartition(":")[2] not in tags:
                yield finding(pods.object, f"{path}.image", f"builds push {', '.join(sorted(tags))}")


@rule(
    severity="warning",
    reason="A privileged pod can take over its node, and with it the pods of other users.",
    fix="Enforce `restricted` or `baseline`.",
    source='Kubernetes documentation, "Pod Security Standards"',
)
def users_pods_are_not_privileged(resources: Resources) -> Iterator[Finding]:
    """Namespaces of users do not allow privileged pods."""
    for namespace in KubernetesObjects(resources).of_kind("Namespace"):
        labels: Mapping[str, str] = namespace.at("metadata.labels") or {}
        level = labels.get("pod-security.kubernetes.io/enforce", "privileged")
        if USER_ID_LABEL in labels and level == "privileged":
            yield finding(namespace, "metadata.labels", "it allows privileged pods")
