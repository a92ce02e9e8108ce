"""Megatron's own writer of token ids writes the bytes of the stand-in that the trainer's tests read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.assembly import PROJECT
from tests.contracts.real_packages import unpacked

pytestmark = pytest.mark.contract

WRITE_BOTH = """
import sys, warnings
from pathlib import Path
import numpy, torch
warnings.simplefilter("ignore")
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
from tests.training.megatron_files import write_token_files
folder, kind = Path(sys.argv[1]), sys.argv[2]
documents = [[5, 6, 7, 1], [200] * 40, [1]]
write_token_files(folder / "stand_in", documents, kind)
builder = IndexedDatasetBuilder(str(folder / "real.bin"), dtype=getattr(numpy, kind))
for document in documents:
    builder.add_document(torch.tensor(document), [len(document)])
builder.finalize(str(folder / "real.idx"))
"""


@pytest.mark.parametrize("kind", ["uint8", "uint16", "int32", "int64", "float32"])
def test_the_stand_in_writes_megatrons_bytes(tmp_path: Path, kind: str) -> None:
    """In the environment that has PyTorch."""
    written = subprocess.run(
        [str(PROJECT / ".tools" / "training" / "bin" / "python"), "-c", WRITE_BOTH, str(tmp_path), kind],
        env={**os.environ, "PYTHONPATH": f"{unpacked('megatron-core')}:{PROJECT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert written.returncode == 0, written.stderr
    for ending in (".bin", ".idx"):
        assert (tmp_path / f"stand_in{ending}").read_bytes() == (tmp_path / f"real{ending}").read_bytes()
