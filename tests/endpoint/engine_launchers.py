"""What each engine's server makes of its container's arguments and variables.

Written down from the engines' own sources, not from Slipway's facts, so that a wrong name there shows: TGI v3.3.5
(Dockerfile.neuron, launcher/src/main.rs, router/src/server.rs), optimum-neuron v0.4.5 (docker/vllm/Dockerfile,
optimum/commands/neuron/serve.py), vLLM v0.11 and v0.16 (entrypoints/openai/{cli_args,api_server}.py, envs.py).
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """Where a server reads a setting: an argument goes before a variable, a variable before the default."""

    flag: str | None = None
    variable: str | None = None
    default: str | None = None


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """A server's settings and habits."""

    entry_point: tuple[str, ...] = ()
    """What must be the container's entry point; empty for the image's own."""

    model: Setting
    """The model's directory."""

    takes_model_as_argument: bool = False
    """Whether it may also be the first argument without a flag."""

    served_name: Setting = Setting()
    """The id that clients use; without one it is the directory."""

    port: Setting
    batch_size: Setting
    keep_alive_seconds: Setting
    """How long it keeps an idle connection; without a value forever."""

    other_flags: frozenset[str] = frozenset()
    """Further arguments that it knows, with a value."""

    switches: frozenset[str] = frozenset()
    """Arguments without a value that it knows."""

    checks_model: bool
    """Whether a request for another model is an error."""

    invalid_status: int
    """What it answers to a request without a prompt."""

    waiting_limit: int | None
    """Requests, running and waiting, above which it answers 429."""

    malformed_status: int = 400
    """Status of an answer to a request that has not the API's form."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """What a server was started with."""

    model_id: str
    port: int
    batch_size: int
    keep_alive_seconds: int | None


class LaunchError(ValueError):
    """The server would end at once."""


def settings(
    launcher: Launcher, entry_point: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str]
) -> ServerSettings:
    """Return what the server starts with.

    Raises:
        LaunchError: it would not start.
    """
    if tuple(entry_point) != launcher.entry_point:
        raise LaunchError(f"entry point {list(entry_point)}, expected {list(launcher.entry_point)}")
    given, unexpected = _parser(launcher).parse_known_args(arguments)
    if unexpected:
        raise LaunchError(f"unexpected arguments {unexpected}")

    def value(setting: Setting) -> str | None:
        as_argument: str | None = getattr(given, setting.flag) if setting.flag else None
        return as_argument or environment.get(setting.variable or "") or setting.default

    model = getattr(given, "model_argument", None) or value(launcher.model)
    if not model or not model.startswith("/"):
        raise LaunchError(f"{model!r} is no directory: the server would look for it on the hub")
    keep_alive = value(launcher.keep_alive_seconds)
    return ServerSettings(
        model_id=value(launcher.served_name) or model,
        port=int(value(launcher.port) or 0),
        batch_size=int(value(launcher.batch_size) or 0),
        keep_alive_seconds=int(keep_alive) if keep_alive else None,
    )


def _parser(launcher: Launcher) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    if launcher.takes_model_as_argument:
        parser.add_argument("model_argument", nargs="?")
    own = (launcher.model, launcher.served_name, launcher.port, launcher.batch_size)
    for flag in sorted({setting.flag for setting in own if setting.flag} | launcher.other_flags):
        parser.add_argument(flag, dest=flag)
    for switch in launcher.switches:
        parser.add_argument(switch, action="store_true")
    return parser


_VLLM_FLAGS = frozenset(
    {
        "--additional-config",
        "--block-size",
        "--max-model-len",
        "--num-gpu-blocks-override",
        "--tensor-parallel-size",
        "--disable-access-log-for-endpoints",
    }
)

LAUNCHERS: Mapping[str, Launcher] = {
    "tgi": Launcher(
        model=Setting("--model-id", "MODEL_ID"),
        port=Setting("--port", "PORT", "80"),
        batch_size=Setting("--max-batch-size", None, "4"),
        keep_alive_seconds=Setting(),
        other_flags=frozenset({"--max-input-tokens", "--max-total-tokens", "--max-batch-prefill-tokens"}),
        checks_model=False,
        invalid_status=422,
        waiting_limit=128,
        malformed_status=422,
    ),
    "vllm-hf": Launcher(
        model=Setting(None, "SM_ON_MODEL"),
        served_name=Setting(None, "SM_ON_SERVED_MODEL_NAME"),
        port=Setting(default="8080"),
        batch_size=Setting(None, "SM_ON_BATCH_SIZE", "4"),
        keep_alive_seconds=Setting(None, "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "5"),
        checks_model=True,
        invalid_status=400,
        waiting_limit=None,
    ),
    "vllm-aws": Launcher(
        entry_point=("vllm", "serve"),
        model=Setting("--model"),
        takes_model_as_argument=True,
        served_name=Setting("--served-model-name"),
        port=Setting("--port", None, "8000"),
        batch_size=Setting("--max-num-seqs", None, "4"),
        keep_alive_seconds=Setting(None, "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "5"),
        other_flags=_VLLM_FLAGS,
        switches=frozenset({"--enable-prefix-caching", "--no-enable-prefix-caching"}),
        checks_model=True,
        invalid_status=400,
        waiting_limit=None,
    ),
    "vllm-neuron": Launcher(
        entry_point=("vllm", "serve"),
        model=Setting("--model"),
        takes_model_as_argument=True,
        served_name=Setting("--served-model-name"),
        port=Setting("--port", None, "8000"),
        batch_size=Setting("--max-num-seqs", None, "4"),
        keep_alive_seconds=Setting(None, "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "5"),
        other_flags=_VLLM_FLAGS | {"--max-num-batched-tokens", "--shutdown-timeout"},
        switches=frozenset({"--enable-prefix-caching", "--no-enable-prefix-caching"}),
        checks_model=True,
        invalid_status=400,
        waiting_limit=None,
    ),
}
