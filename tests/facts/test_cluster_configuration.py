"""The limits of a cluster configuration against the aws-parallelcluster package, whose code is read and not run."""

import pytest

from slipway import facts
from tests.facts.test_parallelcluster import PACKAGES, constants

pytestmark = pytest.mark.skipif(not PACKAGES, reason="make judge has not installed aws-parallelcluster")


@pytest.fixture(scope="module")
def limits() -> facts.ConfigurationLimits:
    """The row of the installed release."""
    return facts.configuration_limit(constants("constants.py")["COOKBOOK_PACKAGES_VERSIONS"]["parallelcluster"])


def test_defaults(limits: facts.ConfigurationLimits) -> None:
    package = constants("constants.py")
    assert sorted(limits.operating_systems) == sorted(package["SUPPORTED_OSES"])
    assert not set(limits.removed_operating_systems) & set(package["SUPPORTED_OSES"])
    assert limits.default_max_count == package["DEFAULT_MAX_COUNT"]
    assert limits.default_scratch_directory == package["DEFAULT_EPHEMERAL_DIR"]
    assert limits.default_log_retention_days == package["CW_LOGS_RETENTION_DAYS_DEFAULT"]


def test_denied_slurm_settings(limits: facts.ConfigurationLimits) -> None:
    denied = constants("validators/slurm_settings_validator.py")["SLURM_SETTINGS_DENY_LIST"]
    for ours, theirs in (
        (limits.denied_slurm_settings, denied["SlurmConf"]["Global"]),
        (limits.denied_slurm_settings_with_database, denied["SlurmConf"]["Accounting"]),
        (limits.denied_queue_settings, denied["Queue"]["Global"]),
        (limits.denied_compute_resource_settings, denied["ComputeResource"]["Global"]),
    ):
        assert sorted(name.lower() for name in ours) == sorted(theirs)


def test_every_release_has_limits() -> None:
    assert facts.configuration_limits().keys() == facts.parallelcluster_releases().keys()
