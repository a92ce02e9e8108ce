"""Environment files of this folder's tests, and an account to ask about their zones."""

from pathlib import Path

import yaml

from tests.config.files import MINIMAL, Values, changed

TEXT = """\
# An environment.
name:   test   # its name
region: us-west-2

network:
    cidr: "10.40.0.0/16"
    # Where the nodes are.
    training_availability_zone_id:  usw2-az1   # ours
    other_availability_zone_ids: [ usw2-az3 , usw2-az2 ]  # two
    nat_gateways: 1
storage: {lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 125}}
training:
  cluster_name: 'trainium'
  queues:
  - name: trn1
    compute_resources:
      - {name: trn1n, instance_type: trn1n.32xlarge, max_count: 2}

inference:
  models:
  - {name: tanuki-8b, engine: vllm-hf}
"""
"""A file in a style of its own. trn1n.32xlarge is offered in usw2-az4 alone."""


def environment_file(folder: Path, text: str = TEXT) -> Path:
    """Write an environment file, byte for byte."""
    path = folder / "test.yaml"
    path.write_bytes(text.encode())
    return path


def with_changes(folder: Path, changes: Values) -> Path:
    """Write the smallest environment file with changes, for example `{"region": "us-east-1"}`."""
    return environment_file(folder, yaml.safe_dump(changed(MINIMAL, changes), sort_keys=False))
