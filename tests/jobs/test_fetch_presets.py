"""The data sets that the kit names: what they say, and that recipes and the prepare stage can use them."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from slipway_jobs.importing.data_set import HUB
from slipway_jobs.importing.hub import NAME
from slipway_jobs.importing.presets import Preset, presets
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.source_files import SUFFIXES
from tests.assets.sandbox import ASSETS
from tests.jobs.chain_case import RECIPES, FakeSlurm
from tests.jobs.hub_server import HubServer
from tests.jobs.test_fetch import call, hub, slurm, words

__all__ = ["hub", "slurm"]

ON_THE_CLUSTER = sorted(file for file in RECIPES.glob("*.yaml") if "/fsx/data" in file.read_text(encoding="utf-8"))
NAMED = re.compile(r"source: (\S+) # .*slipway-job fetch (\S+) --to (\S+)")


@pytest.mark.parametrize("preset", presets().values(), ids=list(presets()))
def test_a_preset_is_of_files_that_the_prepare_stage_reads(preset: Preset) -> None:
    assert NAME.fullmatch(preset.source.removeprefix(HUB))
    assert preset.include
    assert all(pattern.endswith(SUFFIXES) for pattern in preset.include)
    assert preset.license
    assert "Not looked up" in preset.seen or preset.revision
    assert preset.revision is None or re.fullmatch(r"[0-9a-f]{40}", preset.revision)
    assert not fnmatchcase("README.md", preset.include[0])


@pytest.mark.parametrize("recipe", ON_THE_CLUSTER, ids=lambda file: file.stem)
def test_a_recipe_names_the_preset_that_fills_its_folder(recipe: Path) -> None:
    found = NAMED.search(recipe.read_text(encoding="utf-8"))
    assert found, f"{recipe.name} names no data set"
    source, name, target = found.groups()
    assert source == target == load_recipe(recipe, ()).data.source
    assert name in presets()


def test_a_preset_asks_for_its_own_files_at_its_commit(tmp_path: Path, hub: HubServer, slurm: FakeSlurm) -> None:
    del slurm
    preset = presets()["wikipedia-ja"]
    hub.name = preset.source.removeprefix(HUB)
    hub.license = None
    hub.commit = str(preset.revision)
    result = call("wikipedia-ja", "--to", f"{tmp_path}/data/pretraining-ja", answer="n\n")
    assert f"data {preset.source} ({preset.about})" in words(result)
    assert f"revision {preset.revision}" in words(result)
    assert f"licence {preset.license}; read it:" in words(result)
    assert "files 1 (1 .parquet)" in words(result)


def test_the_documents_list_the_presets() -> None:
    training = (ASSETS.parent / "docs" / "training.md").read_text(encoding="utf-8")
    for name in presets():
        assert f"`{name}`" in training
