"""How long an environment may exist below a ceiling of cost."""

import math
from dataclasses import dataclass

from slipway.errors import RefusedError

LEAST_PROBE_SECONDS = 900
"""Time for probes below which a proof is not worth its deployment."""

_HOUR = 3600


@dataclass(frozen=True)
class Ceiling:
    """A ceiling, and what it must pay for.

    Attributes:
        usd: US dollars.
        usd_per_hour: what the environment costs with all that may run, by list prices.
        deploy_seconds: how long its deployment takes by mean create times; its deletion counts as long.
    """

    usd: float
    usd_per_hour: float
    deploy_seconds: int

    @property
    def seconds(self) -> int:
        """How long everything may exist."""
        return int(self.usd / self.usd_per_hour * _HOUR)

    @property
    def teardown_after_seconds(self) -> int:
        """When the deletion begins, counted from the start."""
        return self.seconds - self.deploy_seconds

    @property
    def least_usd(self) -> float:
        """The lowest ceiling that is worth it."""
        return self.usd_per_hour * (2 * self.deploy_seconds + LEAST_PROBE_SECONDS) / _HOUR

    def check(self) -> None:
        """Refuse a ceiling that is too low.

        Raises:
            RefusedError: it is.
        """
        if not math.isfinite(self.usd) or self.usd < self.least_usd:
            raise RefusedError(
                f"--ceiling {self.usd:g} is too low or no amount: this environment costs up to "
                f"${self.usd_per_hour:,.2f} an hour, and its deployment, a first probe and its deletion need "
                f"${self.least_usd:,.2f}. Nothing was changed"
            )

    def spent(self, seconds: float) -> float:
        """Return what some time costs at most, in US dollars."""
        return self.usd_per_hour * seconds / _HOUR
