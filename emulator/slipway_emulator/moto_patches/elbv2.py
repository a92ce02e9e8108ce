"""Elastic Load Balancing: what a rule does besides forwarding."""

from collections.abc import Callable
from typing import Any

from moto.core.responses import ActionResult
from moto.elbv2.models import ELBv2Backend, FakeAction
from moto.elbv2.responses import ELBV2Response

from slipway_emulator.moto_patches.patch import MotoPatch

_TOKEN_CHECK = "jwt-validation"


def _take_token_checks() -> None:
    validate = ELBv2Backend._validate_actions

    def validate_actions(self: ELBv2Backend, actions: list[FakeAction]) -> None:
        validate(self, [action for action in actions if action.type != _TOKEN_CHECK])

    ELBv2Backend._validate_actions = validate_actions  # type: ignore[method-assign]


def _keep_transforms() -> None:
    def keeping(answer: Callable[[ELBV2Response], ActionResult]) -> Callable[[ELBV2Response], ActionResult]:
        def answer_with_transforms(self: ELBV2Response) -> ActionResult:
            done = answer(self)
            # A modification that leaves them out leaves them alone, as it does conditions.
            if transforms := self._get_params().get("Transforms"):
                result: Any = done.result
                result["Rules"][0].transforms = transforms
            return done

        return answer_with_transforms

    for name in ("create_rule", "modify_rule"):
        setattr(ELBV2Response, name, keeping(getattr(ELBV2Response, name)))


DEVIATIONS = (
    MotoPatch(
        "elbv2-jwt-validation",
        "moto knows no jwt-validation action; it is kept as it was sent, and no token is checked",
        _take_token_checks,
    ),
    MotoPatch(
        "elbv2-transforms",
        "moto drops the transforms of a listener rule; they are kept as they were sent",
        _keep_transforms,
    ),
)
