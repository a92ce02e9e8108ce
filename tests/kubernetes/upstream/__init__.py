"""Kubernetes' own code as the judge of pods: judge.go, which install.sh builds (`make test-kubernetes`)."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.assembly import PROJECT
from tests.kubernetes.admission import ApiServer, Object

JUDGE = PROJECT / ".tools/kubernetes/judge"


class UpstreamApiServer(ApiServer):
    """An API server whose admission policies are evaluated by its own plug-in."""

    def refusals(self, pod: Object, namespace: str) -> list[str]:
        """Return the name of the policy that refuses to create a pod."""
        asked = self.of_kind("Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
        reviews = [{"namespace": namespace, "pod": _typed(pod, "Pod")}]
        (message,) = _ask(objects=asked, reviews=reviews)["refusals"]
        names = re.findall(r"ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request", message)
        assert bool(message) == bool(names), message
        return names


@dataclass(frozen=True)
class Placement:
    """What the scheduler's filters compute for a pod and a node."""

    requests: Mapping[str, str]
    """What the pod asks for, by resource, as Kubernetes writes quantities."""

    selected: bool
    """Whether the pod's node selector and node affinity allow the node."""

    untolerated: str
    """Key and value of the first taint that keeps the pod off, or an empty text."""


def placements(pairs: Sequence[tuple[Object, Object]]) -> list[Placement]:
    """Return what the filters compute for each pod and node."""
    asked = [{"pod": _typed(pod, "Pod"), "node": _typed(node, "Node")} for pod, node in pairs]
    return [Placement(**each) for each in _ask(placements=asked)["placements"]]


def _typed(found: Object, kind: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, **found}


def _ask(**questions: Any) -> Any:
    done = subprocess.run(
        [JUDGE], input=json.dumps(questions), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
