"""Which images take a permission to pull, and of which repository."""

import aws_cdk as cdk
import pytest

from neuron_constructs.inference.container_image import container_image, ecr_registry, ecr_repository, is_in_ecr
from slipway import facts

DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    ("reference", "registry", "arn"),
    [
        (
            "111122223333.dkr.ecr.us-west-2.amazonaws.com/team/tgi:3.3.5-neuron",
            "111122223333.dkr.ecr.us-west-2.amazonaws.com",
            "arn:aws:ecr:us-west-2:111122223333:repository/team/tgi",
        ),
        (
            f"111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/tgi@{DIGEST}",
            "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn",
            "arn:aws-cn:ecr:cn-north-1:111122223333:repository/tgi",
        ),
        (
            "111122223333.dkr-ecr.us-west-2.on.aws/tgi:1",
            "111122223333.dkr-ecr.us-west-2.on.aws",
            "arn:aws:ecr:us-west-2:111122223333:repository/tgi",
        ),
    ],
)
def test_images_of_amazon_ecr(reference: str, registry: str, arn: str) -> None:
    repository = ecr_repository(cdk.Stack(), "Repository", reference)

    assert is_in_ecr(reference)
    assert ecr_registry(reference) == registry
    assert repository is not None
    assert repository.repository_arn == arn


@pytest.mark.parametrize("reference", [engine.image for engine in facts.inference_engines().values()])
def test_public_images(reference: str) -> None:
    stack = cdk.Stack()

    assert not is_in_ecr(reference)
    assert ecr_registry(reference) is None
    assert ecr_repository(stack, "Repository", reference) is None
    assert container_image(stack, "Image", reference) is not None
    assert not stack.node.children
