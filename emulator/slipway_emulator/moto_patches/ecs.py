"""ECS: what a task definition must say about memory."""

from typing import Any

from moto.ecs.models import EC2ContainerServiceBackend

from slipway_emulator.moto_patches.patch import MotoPatch


def _let_a_reservation_suffice() -> None:
    validate = EC2ContainerServiceBackend._validate_container_defs

    def validate_container_definitions(
        memory: str | None,
        container_definitions: list[dict[str, Any]],
        requires_compatibilities: list[str] | None,  # moto's rule for EC2 hangs on it
    ) -> None:
        validate(memory, container_definitions, None)

    setattr(EC2ContainerServiceBackend, validate.__name__, staticmethod(validate_container_definitions))


DEVIATIONS = (
    MotoPatch(
        "ecs-memory-reservation",
        "moto wants a hard memory limit in EC2 task definitions; ECS is content with memoryReservation",
        _let_a_reservation_suffice,
    ),
)
