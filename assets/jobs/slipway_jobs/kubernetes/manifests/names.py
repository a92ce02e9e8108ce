"""Names and labels of a run's objects."""

from __future__ import annotations

import hashlib
import re

RUN_LABEL = "slipway/run"
"""Label with the run's name, on all its objects and pods."""

SUBMISSION_LABEL = "slipway/submission"
"""Label with what a submission is called, on all its objects and pods."""

STAGE_LABEL = "slipway/stage"
"""Label of a pod with its stage: `fetch`, `prepare`, `train` (which compiles first), `convert` or `publish`."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Label by which Kueue lets an object wait."""

NODE_GROUP_LABEL = "slipway/node-group"
"""Label of each node with its node group, which is a queue for recipes; also the taint of nodes without accelerator."""

NEURON_RESOURCE = "aws.amazon.com/neuron"
"""What the device plugin calls a Neuron device; also the taint of the nodes that have some."""

EFA_RESOURCE = "vpc.amazonaws.com/efa"
"""What the device plugin calls an EFA interface."""

CONTAINER = "stage"
"""Name of the container in each pod."""

LONGEST = 40
"""Characters of a name: a pod's is `<name>-prepare-0-0-abcde`, a DNS label of 63 characters at most (JobSet's webhook
checks it), and a job of a thousand nodes has three digits more."""

_LABEL = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")


def job_set_name(run_name: str) -> str:
    """Return the name of a run's JobSet and MPIJob.

    It is the run's name where that is a DNS label (RFC 1035) and short enough; else what is left of it, and a checksum
    of the whole, so that two runs never share one.
    """
    if len(run_name) <= LONGEST and _LABEL.fullmatch(run_name):
        return run_name
    checksum = hashlib.sha256(run_name.encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9]+", "-", run_name)
    if not readable[0].isalpha():
        readable = f"run-{readable}"
    return f"{readable[: LONGEST - 1 - len(checksum)].rstrip('-')}-{checksum}"
