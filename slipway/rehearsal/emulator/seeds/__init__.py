"""What a real region already holds before the first deployment."""

from slipway.rehearsal.emulator.seeds.account import seed_account
from slipway.rehearsal.emulator.seeds.parallelcluster import seed_parallelcluster
from slipway.rehearsal.emulator.seeds.public import seed_images, seed_public_parameters

__all__ = ["seed_account", "seed_images", "seed_parallelcluster", "seed_public_parameters"]
