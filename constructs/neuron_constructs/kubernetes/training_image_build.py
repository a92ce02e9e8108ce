"""What a build of the training image runs, and the files of its context that are generated."""

from collections.abc import Iterator, Mapping, Sequence

from neuron_constructs.cluster.node_scripts import lock_file, neuron_lock
from neuron_constructs.image_builds import SCRIPT_START, script_command
from slipway import facts

_IMAGE_FOLDER = "kubernetes/training_image"

NODE_SCRIPTS = (
    "steps.sh",
    "operating_system.sh",
    "training_stack.sh",
    "neuron_packages.sh",
    "python_environments.sh",
)
"""The node scripts (`assets/cluster`) that the image is built with."""

CONTEXT = (
    "jobs",
    "jobs/**",
    "kubernetes",
    _IMAGE_FOLDER,
    f"{_IMAGE_FOLDER}/**",
    "cluster",
    *(f"cluster/{name}" for name in NODE_SCRIPTS),
    "cluster/python_locks",
    "cluster/python_locks/**",
)
"""What of the folder `assets` is the build's context, as patterns of gitignore."""

BUILD_SCRIPT = f"""\
{SCRIPT_START}\
# Parts whose sources are the same come from the newest image there (Docker documentation, "Inline cache"; mounted files
# count like copied ones, moby/buildkit issue 1903): a changed kit is then one small layer, to build as to fetch. With a
# newer base image all parts are new.
newest=$(aws ecr describe-images --region "$AWS_REGION" --repository-name "$REPOSITORY_NAME" \\
  --query 'sort_by(imageDetails, &imagePushedAt)[-1].imageTags[0]' --output text)
cache=()
if [ "$newest" != None ]; then
  cache=(--cache-from "$REPOSITORY_URI:$newest")
fi

docker build --progress plain --pull --provenance=false --file kubernetes/training_image/Dockerfile \\
  --build-arg BUILDKIT_INLINE_CACHE=1 "${{cache[@]}}" \\
  --build-arg "BASE_IMAGE=$BASE_IMAGE" --build-arg "TRAINING_STACK=$TRAINING_STACK" \\
  --build-arg "NEURON_RELEASE=$NEURON_RELEASE" --build-arg "EFA_INSTALLER=$EFA_INSTALLER" \\
  --tag "$REPOSITORY_URI:$TAG" .
docker push --quiet "$REPOSITORY_URI:$TAG"

pushed=$(digest_in_repository)
if [ "$pushed" = None ]; then
  echo "$REPOSITORY_URI:$TAG is not in the repository" >&2
  exit 1
fi
echo "$REPOSITORY_URI:$TAG is $pushed"
"""
"""What a build runs, in bash, in the context. Environment variables: those of the script's start and of
`build_arguments`."""


def base_operating_system(training_stack: str) -> str:
    """Return the operating system of the image: the first that the training stack supports.

    Raises:
        slipway.facts.UnknownFact: there is no row for the training stack.
    """
    return facts.training_stack(training_stack).operating_systems[0]


def build_arguments(training_stack: str) -> dict[str, str]:
    """Return the arguments of the Dockerfile.

    Raises:
        slipway.facts.UnknownFact: there is no row for the training stack, or no base image of its operating system.
    """
    return {
        "BASE_IMAGE": facts.cluster_image(f"training-base-{base_operating_system(training_stack)}").image,
        "TRAINING_STACK": training_stack,
        "NEURON_RELEASE": facts.training_stack(training_stack).release,
        "EFA_INSTALLER": _efa_installer(training_stack).name,
    }


def build_commands(training_stack: str) -> Sequence[str]:
    """Return the build's commands: they write the generated files into the context, then run the script.

    Raises:
        slipway.facts.UnknownFact: there is no row for the training stack, its operating system or its EFA installer.
    """
    return (*_here_documents(_generated_files(training_stack)), script_command(BUILD_SCRIPT))


def _generated_files(training_stack: str) -> Mapping[str, str]:
    installer = _efa_installer(training_stack)
    return {
        f"cluster/{lock_file(training_stack)}": neuron_lock(training_stack, base_operating_system(training_stack)),
        f"{_IMAGE_FOLDER}/efa_release.sh": (
            f"EFA_INSTALLER_ADDRESS={installer.address}\nEFA_INSTALLER_SHA256={installer.sha256}\n"
        ),
    }


def _efa_installer(training_stack: str) -> facts.EfaInstaller:
    """The one that the Neuron release was tested with, the newest where it names none."""
    tested = facts.training_stack(training_stack).efa_installer
    return facts.efa_installer(tested or list(facts.efa_installers())[-1])


def _here_documents(files: Mapping[str, str]) -> Iterator[str]:
    for name, content in files.items():
        folder = name.rpartition("/")[0]
        yield f"mkdir -p {folder} && cat > {name} <<'END OF FILE'\n{content}END OF FILE\n"
