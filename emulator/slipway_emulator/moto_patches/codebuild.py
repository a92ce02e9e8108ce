"""CodeBuild: a project whose build needs no source."""

from typing import Any

from moto.codebuild import responses

from slipway_emulator.moto_patches.patch import MotoPatch

_CHECK = "_validate_required_params_source"


def _take_projects_without_source() -> None:
    check = getattr(responses, _CHECK)

    def check_source(source: dict[str, Any]) -> None:
        if source["type"] != "NO_SOURCE":
            check(source)

    setattr(responses, _CHECK, check_source)


DEVIATIONS = (
    MotoPatch(
        "codebuild-no-source",
        "moto wants a location of every source; CodeBuild takes none with the type NO_SOURCE",
        _take_projects_without_source,
    ),
)
