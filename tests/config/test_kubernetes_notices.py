"""The notice about a Kubernetes version whose support ends, which only facts of another day call for."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from slipway import facts
from slipway.config import Problem, load_with_notices
from tests.config.files import MINIMAL, changed, write
from tests.config.rule_cases_kubernetes import cluster

END = facts.kubernetes_version("1.35").standard_support_until


def notices_on(day: date, version: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> list[Problem]:
    """Return the notices about a cluster, when the facts about its version are of that day."""
    row = facts.kubernetes_version(version).model_copy(update={"as_of": day})
    monkeypatch.setattr(facts, "kubernetes_version", {version: row}.__getitem__)
    return load_with_notices(write(directory, changed(MINIMAL, cluster(version=version))))[1]


def test_half_a_year_before_support_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [notice] = notices_on(END - timedelta(days=180), "1.35", tmp_path, monkeypatch)
    assert (notice.rule, notice.path) == ("kubernetes-version-supported", "kubernetes.version")
    assert "ends on 2027-03-27; EKS then upgrades the control plane by itself (facts of 2026-09-28)" in str(notice)
    assert notice.fix == "Write 1.36."


def test_not_earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert notices_on(END - timedelta(days=181), "1.35", tmp_path, monkeypatch) == []


def test_the_newest_version_has_no_successor_to_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = max(facts.kubernetes_versions().values(), key=lambda row: row.standard_support_until)
    [notice] = notices_on(newest.standard_support_until, newest.name, tmp_path, monkeypatch)
    assert notice.fix == "Look for a newer version in the EKS user guide."
