"""What a real region already holds before the first deployment."""

from slipway.rehearsal.emulator.seeds.public import seed_images, seed_public_parameters

__all__ = ["seed_images", "seed_public_parameters"]
