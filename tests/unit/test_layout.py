"""The house's own rules."""

import json
import re
from importlib import metadata
from pathlib import Path

import constructs

from tests.assembly import PROJECT


def test_the_constructs_library_is_not_shadowed() -> None:
    assert not (PROJECT / "constructs" / "__init__.py").exists()
    assert "site-packages" in Path(str(constructs.__file__)).parts


def test_the_cdk_cli_is_pinned_to_a_release_that_reads_our_assemblies() -> None:
    package = json.loads((PROJECT / "package.json").read_text())
    major, minor, _ = package["devDependencies"]["aws-cdk"].split(".")

    # npm's `latest` is 3.0.0, published by accident in 2025; 2.1147 is the first that reads aws-cdk-lib 2.275's schema.
    assert major == "2"
    assert int(minor) >= 1147
    assert metadata.version("aws-cdk-lib") == "2.275.0"


def test_requirements_are_pinned() -> None:
    for name in (
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-parallelcluster.txt",
        "requirements-checkov.txt",
    ):
        for line in (PROJECT / name).read_text().splitlines():
            if line and not line.startswith(("#", "-")):
                assert "==" in line, f"{name}: {line}"


def test_the_lock_file_names_no_download_hosts() -> None:
    assert "resolved" not in (PROJECT / "package-lock.json").read_text()


def test_every_folder_that_the_makefile_tests_exists() -> None:
    named = set(re.findall(r"(?<![\w/])tests/[\w/]+(?:\.\w+)?", (PROJECT / "Makefile").read_text(encoding="utf-8")))

    assert len(named) > 10
    assert sorted(name for name in named if not (PROJECT / name).exists()) == []
