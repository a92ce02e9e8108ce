"""The converter's commands: `python -m slipway_conversion to-transformers|from-transformers`.

Ends with 0 when the folder is there, 1 when something has to be changed first, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m slipway_conversion", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    forth = commands.add_parser("to-transformers", help="checkpoint to a folder of the transformers library")
    of_what = forth.add_mutually_exclusive_group(required=True)
    of_what.add_argument("--run", type=Path, metavar="RUN_JSON", help="convert the run's latest complete checkpoint")
    of_what.add_argument("--checkpoint", type=Path, metavar="DIR", help="convert this checkpoint; needs --output")
    forth.add_argument("--output", type=Path, metavar="DIR", help="folder to make")
    forth.add_argument("--configuration", type=Path, metavar="FILE", help="config.json; not with a checkpoint.json")
    forth.add_argument("--kv-size-multiplier", type=_count, metavar="N", help="left out, it is measured")
    forth.add_argument("--attention-order", choices=("trn1", "trn2"), help="order of repeated heads; trn1 if not told")
    forth.add_argument("--tokenizer", metavar="DIR", help="folder or name of the tokenizer to put beside the model")
    forth.add_argument("--precision", choices=("bfloat16", "float32"), help="left out, the checkpoint's")
    back = commands.add_parser("from-transformers", help="folder of the transformers library to a checkpoint")
    of_what = back.add_mutually_exclusive_group(required=True)
    of_what.add_argument("--run", type=Path, metavar="RUN_JSON", help="convert the run's initial weights")
    of_what.add_argument("--model", type=Path, metavar="DIR", help="convert this model; needs --output")
    back.add_argument("--output", type=Path, metavar="DIR", help="folder to make")
    back.add_argument("--tensor-parallel-size", type=_count, default=1, metavar="N")
    back.add_argument("--pipeline-parallel-size", type=_count, default=1, metavar="N")
    back.add_argument("--kv-size-multiplier", type=_count, default=1, metavar="N")
    back.add_argument("--attention-order", choices=("trn1", "trn2"), default="trn1")
    back.add_argument("--fuse-qkv", action="store_true", help="query, key and value weights in one matrix")
    back.add_argument("--xser", action="store_true", help="a file for each tensor")
    return parser


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    given = options.checkpoint if options.command == "to-transformers" else options.model
    if (given is None) != (options.output is None):
        parser.error("--output goes with --checkpoint or --model, and only with them")
    # PyTorch and transformers take seconds to import: not before the command line is known to be right.
    from slipway_conversion import commands  # noqa: PLC0415
    from slipway_conversion.problems import ConversionError  # noqa: PLC0415

    try:
        (commands.forth if options.command == "to-transformers" else commands.back)(options, _say)
    except ConversionError as error:
        print(*(f"slipway_conversion: {problem}" for problem in error.problems), sep="\n", file=sys.stderr)
    except OSError as error:
        print(f"slipway_conversion: {error}", file=sys.stderr)
    else:
        return 0
    return 1


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
