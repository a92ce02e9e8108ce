"""The scripts of all shipped recipes: what a shell and sbatch make of them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from slipway_jobs import chain
from slipway_jobs.arithmetic.training import SCRIPTS_OWN
from slipway_jobs.chain.scripts import grace_seconds, render
from slipway_jobs.chain.variables import variables
from slipway_jobs.environment import Environment
from slipway_jobs.run import Stage, TrainingRun
from tests.jobs.chain_case import RECIPES, environment_below, placed, run_of, shellcheck
from tests.jobs.kubernetes.test_manifests_scripts import ENDS_EARLY

NAMES = sorted(file.stem for file in RECIPES.glob("*.yaml"))


def options(run: TrainingRun, environment: Environment, stage: Stage) -> dict[str, str]:
    lines = re.findall(r"^#SBATCH --(.*)$", render(run, environment)[run.script(stage)], re.MULTILINE)
    words = [shlex.split(line)[0] for line in lines]
    return {name: value for name, _, value in (word.partition("=") for word in words)}


@pytest.mark.parametrize("name", NAMES)
def test_scripts_of_each_shipped_recipe_please_shellcheck(name: str, tmp_path: Path) -> None:
    run, environment = placed(name)
    scripts = render(run, environment)
    shellcheck(scripts, tmp_path)
    assert not any(ENDS_EARLY.search(text) for text in scripts.values())


@pytest.mark.parametrize("name", NAMES)
def test_each_job_of_a_shipped_recipe_is_bounded_and_may_be_repeated(name: str) -> None:
    run, environment = placed(name)

    for stage in run.stages:
        given = options(run, environment, stage)
        assert {"requeue", "exclusive"} <= given.keys()
        assert given["open-mode"] == "append"
        assert given["ntasks-per-node"] == "1"
        assert given["kill-on-invalid-dep"] == "yes"
        assert given["job-name"] == f"{name}-{stage}"
        assert given["output"] == str(run.log(stage))
        assert "time" in given
    # Graphs depend on the number of workers.
    assert options(run, environment, "compile")["nodes"] == options(run, environment, "train")["nodes"]
    grace = grace_seconds(run, environment)
    assert options(run, environment, "train")["signal"] == f"B:USR1@{grace}"
    assert 300 <= grace <= run.recipe.restarts.time_limit_hours * 1800


def test_a_recipe_without_publication_ends_with_the_converted_model(tmp_path: Path) -> None:
    environment = environment_below(tmp_path)
    run = run_of(environment)
    run = run.model_copy(update={"recipe": run.recipe.model_copy(update={"publish": None})})

    assert run.stages == ("prepare", "compile", "train", "convert")
    assert run.script("publish") not in render(run, environment)


def test_values_are_words_of_the_shell(tmp_path: Path) -> None:
    below = tmp_path / "it's $(touch evil); here"
    run = run_of(environment_below(below))
    text = render(run, environment_below(below))[run.script("train")]

    assert f"readonly RUN={shlex.quote(str(run.file))}\n" in text
    assert options(run, environment_below(below), "train")["chdir"] == run.directory


def test_initial_weights_are_converted_before_training(tmp_path: Path) -> None:
    environment = environment_below(tmp_path)
    (tmp_path / "weights").mkdir()
    run = run_of(environment)
    recipe = run.recipe.model_copy(update={"initial_weights": str(tmp_path / "weights")})
    run = run.model_copy(update={"recipe": recipe})

    commands = re.findall(r"supervise (.*) \|\| rc", render(run, environment)[run.script("prepare")])

    assert [shlex.split(command)[2:4] for command in commands] == [
        ["slipway_training.prepare", "--run"],
        ["slipway_conversion", "from-transformers"],
    ]


def test_a_queue_of_several_instance_types_is_asked_for_the_recipes(tmp_path: Path) -> None:
    environment = environment_below(tmp_path, "trn1")
    run = run_of(environment, "llama-3-8b")
    assert "constraint" not in options(run, environment, "train")
    queues = tuple(
        queue.model_copy(update={"instance_types": {**queue.instance_types, "trn1n.32xlarge": 2}})
        if queue.name == run.queue
        else queue
        for queue in environment.queues
    )
    mixed = environment.model_copy(update={"queues": queues})

    assert options(run, mixed, "train")["constraint"] == "trn1.32xlarge"
    assert "constraint" not in options(run, mixed, "prepare")


def test_the_environment_of_a_llama_on_trn1_is_upstreams(tmp_path: Path) -> None:
    run = run_of(environment_below(tmp_path, "trn1"), "llama-3-8b")

    given = variables(run, efa=True)

    assert given["FI_PROVIDER"] == "efa"
    assert given["NEURON_CC_FLAGS"] == "--model-type transformer"
    assert given["NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS"] == "3"
    assert given["MALLOC_ARENA_MAX"] == "64"
    assert given["NEURON_RT_STOCHASTIC_ROUNDING_EN"] == "0"
    assert "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS" not in variables(
        run.model_copy(update={"neuron_release": "2.31.0"}), efa=True
    )
    assert not [name for name in variables(run, efa=False) if name.startswith("FI_")]
    assert "FI_EFA_USE_HUGE_PAGE" not in given
    in_pods = variables(run.model_copy(update={"scheduler": "kubernetes"}), efa=True)
    assert in_pods == {**given, "FI_EFA_USE_HUGE_PAGE": "0"}


def test_the_environment_of_a_bert_on_trn1_is_upstreams(tmp_path: Path) -> None:
    run = run_of(environment_below(tmp_path, "trn1"), "bert-large-phase-1")

    given = variables(run, efa=True)

    assert given["NEURON_CC_FLAGS"] == "--model-type transformer"
    assert given["NEURON_RT_STOCHASTIC_ROUNDING_EN"] == "1"
    assert given["ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB"] == "512"


@pytest.mark.parametrize("recipe", ["bert-large-phase-1", "llama-3-8b", "llama-3-8b-native"])
@pytest.mark.parametrize(
    ("precision", "flags", "rounding"),
    [
        ("bfloat16", "--model-type transformer", {"bert-large-phase-1": "1"}),
        ("float16", "--model-type transformer --auto-cast=matmult --auto-cast-type=fp16", {}),
        ("tf32", "--model-type transformer --auto-cast=matmult --auto-cast-type=tf32", {}),
        ("float32", "--model-type transformer --auto-cast=none", {}),
    ],
)
def test_scripts_say_how_numbers_are_cast_and_rounded(
    recipe: str, precision: str, flags: str, rounding: dict[str, str], tmp_path: Path
) -> None:
    """Without the variable's 1, BERT's autocast loses small updates; with another's, copies of weights drift apart."""
    native = recipe.endswith("native")
    if native and precision in ("float16", "tf32"):
        pytest.skip("the native framework has no such precision (test_recipe_rules.py)")
    environment = environment_below(tmp_path, "trn2" if native else "trn1")
    run = run_of(environment, recipe)
    run = run.model_copy(update={"recipe": run.recipe.model_copy(update={"precision": precision})})

    [script] = [text for file, text in render(run, environment).items() if file.name == "node.sh"]

    exported = dict(re.findall(r"^export (\w+)=(.*)$", script, re.MULTILINE))
    assert exported["NEURON_RT_STOCHASTIC_ROUNDING_EN"] == rounding.get(recipe, "0")
    assert exported.get("NEURON_CC_FLAGS") == (None if native else shlex.quote(flags))


def test_a_recipes_own_variables_win_and_reach_each_node_as_they_are(tmp_path: Path) -> None:
    value = "--model-type transformer -O1 'two words' $HOME"
    environment = environment_below(tmp_path, "trn1")
    run = run_of(environment, "llama-3-8b")
    own = {"environment_variables": {"NEURON_CC_FLAGS": value, "own": "1"}}
    run = run.model_copy(update={"recipe": run.recipe.model_copy(update=own)})

    [script] = [text for text in render(run, environment).values() if "NEURON_CC_FLAGS=" in text]
    [line] = re.findall(r"^export NEURON_CC_FLAGS=.*", script, re.MULTILINE)

    shown = subprocess.run(
        ["bash", "-c", f'{line}\necho "$NEURON_CC_FLAGS"'], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"{value}\n"
    assert "\nexport own=1\n" in script


def test_a_variable_that_the_scripts_set_is_refused_in_a_recipe() -> None:
    """So no line of a script can undo what a recipe asks for."""
    template = re.compile(r"^ *export ((?:[A-Z_]+=\S+ ?)+)", re.MULTILINE)
    folder = Path(chain.__file__).parent / "templates"
    lines = [line for file in folder.rglob("*.j2") for line in template.findall(file.read_text(encoding="utf-8"))]
    names = {name for line in lines for name in re.findall(r"([A-Z_]+)=", line)}

    assert {"PATH", "PYTHONPATH", "NEURON_COMPILE_CACHE_URL"} <= names
    # Slurm's scripts add an option to what the recipe says, and a node to what bypasses a proxy; the recipe's line for
    # the latter comes later, in the node's script.
    assert {name for name in names if not SCRIPTS_OWN.fullmatch(name)} == {"NEURON_CC_FLAGS", "NO_PROXY"}


@pytest.mark.parametrize("name", NAMES)
def test_no_variable_is_a_known_trap(name: str) -> None:
    run, _ = placed(name)
    given = variables(run, efa=True)

    assert not given.keys() & {"XLA_USE_BF16", "XLA_DOWNCAST_BF16", "FI_EFA_FORK_SAFE"}
    assert "--cache_dir" not in given.get("NEURON_CC_FLAGS", "")


def test_a_status_outlives_a_signal_that_comes_with_a_childs_end() -> None:
    """With `wait` alone, bash 5.2 loses nearly each of them."""
    waiting = Path(chain.__file__).parent / "templates" / "await.sh.j2"
    script = f"""
        set -euo pipefail
        source {shlex.quote(str(waiting))}
        setsid() {{ sleep 0.001; }}
        trap 'interrupted=yes; signals+=1' TERM
        signals=''
        for ((round = 0; round < 50; round++)); do
          bash -c 'sleep 0.001; kill -s TERM "$PPID"; exit 7' &
          rc=0
          await "$!" || rc=$?
          echo "$rc"
        done
        echo "${{#signals}} signals"
    """

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=120)

    assert done.stdout.split("\n") == ["7"] * 50 + ["50 signals", ""], done.stderr
