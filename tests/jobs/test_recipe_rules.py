"""Each rule refuses with the numbers, and lets the neighbour pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from slipway import facts
from slipway_jobs.arithmetic.publication import HOST_SHARE
from slipway_jobs.environment import CompiledShape
from tests.jobs.recipe_case import environment, estimate_of, problems_of

TP = "parallelism.tensor_parallel_size"
PP = "parallelism.pipeline_parallel_size"
KV = "parallelism.kv_size_multiplier"
RECOMPUTED = "parallelism.activation_checkpointing"

# recipe, what makes it wrong, parts of the message, what makes the neighbour right
CASES = {
    "no replica": (
        "llama-3-70b",
        [f"{PP}=5"],
        ["TP 32 x PP 5 = 160 workers", "32 nodes x 32 workers = 1024 workers", "Write 1, 2, 4, 8, 16 or 32"],
        [f"{PP}=16"],
    ),
    "TP over nodes": ("llama-3-70b", [f"{TP}=64", f"{KV}=8"], ["64 workers share", "the 32 workers"], [f"{TP}=32"]),
    "batch": (
        "llama-2-7b",
        ["batch.global_size=1000"],
        ["1000", "16 replicas x 1", "992 or 1008"],
        ["batch.global_size=992"],
    ),
    "micro-batch": ("llama-2-7b", ["batch.micro_size=3"], ["1024", "16 replicas x 3", "48"], ["batch.micro_size=2"]),
    "pipeline bubbles": (
        "llama-3-70b",
        ["batch.global_size=28"],
        ["7 micro-batches", "4 replicas", "8 stages", "Write 32 or more"],
        ["batch.global_size=32"],
    ),
    "recomputed MLP": (
        "bert-large-phase-1",
        [f"{RECOMPUTED}=selective_mlp"],
        ["`selective_mlp` is of `tensor_parallel`, not of `data_parallel`"],
        [f"{RECOMPUTED}=selective"],
    ),
    "decay": (
        "llama-2-7b",
        ["optimizer.decay_steps=9999"],
        ["9999 steps of decay after", "in 10000 steps"],
        ["optimizer.decay_steps=1000"],
    ),
    "precision on processors": (
        "llama-2-7b",
        ["hardware.device=cpu", "precision=tf32"],
        ["neuronx-cc makes `tf32` of float32", "not on processors", "Write bfloat16 or float32"],
        ["precision=tf32"],
    ),
    "sliding window": (
        "llama-2-7b",
        ["model.architecture=mistral", "model.sliding_window=2048"],
        ["2048 tokens are fewer than the 4096 of a sample", "Write data.sequence_length 2048 or less, or null"],
        ["model.architecture=mistral", "model.sliding_window=4096", "publish.export=null"],
    ),
    "a model that the exporter does not compile": (
        "llama-2-7b",
        ["model.architecture=mistral"],
        ["publish.export", "optimum-neuron 0.4.5 compiles", "not `mistral`", "publish.export=null"],
        ["model.architecture=qwen2"],
    ),
    "a window that a model has not": (
        "llama-2-7b",
        ["model.architecture=qwen3", "model.sliding_window=4096"],
        ["model.sliding_window", "a qwen3 has none", "Leave it out"],
        ["model.architecture=qwen3"],
    ),
    "a head's width that a model has not": (
        "llama-2-7b",
        ["model.architecture=qwen2", "model.head_dim=64"],
        ["model.head_dim", "a qwen2 has none"],
        ["model.architecture=qwen3", "model.head_dim=64"],
    ),
    "compile steps": ("llama-2-7b", ["compile.steps=1"], ["1 step", "Write 2 or more"], ["compile.steps=2"]),
    # 9,600 GiB are 10,308 GB.
    "room for checkpoints": (
        "llama-3-70b",
        ["checkpoint.keep=9"],
        ["9 checkpoints of 1044 GB", "take 10,441 GB", "/fsx has 10,308 GB", "Write 8 or less"],
        ["checkpoint.keep=8"],
    ),
    "heads": ("llama-2-7b", ["model.num_attention_heads=36"], ["4096 is not a multiple of 36"], []),
    "vocabulary by TP": (
        "llama-2-7b",
        ["model.vocab_size=32001"],
        ["8 workers", "vocab_size 32001"],
        ["model.vocab_size=32008"],
    ),
    "feed-forward by TP": (
        "llama-2-7b",
        ["model.intermediate_size=11004"],
        ["8 workers do not divide intermediate_size 11004", "Write 1, 2 or 4"],
        ["model.intermediate_size=11000"],
    ),
    "layers": (
        "llama-3-70b",
        ["model.num_hidden_layers=7"],
        ["7 layers are fewer than 8 stages"],
        ["model.num_hidden_layers=8"],
    ),
    "too few KV heads": (
        "llama-3-8b",
        [f"{KV}=1"],
        ["8 key and value heads x 1 = 8", "32 workers", "Write 4"],
        [f"{KV}=4"],
    ),
    "too many KV heads": (
        "llama-3-8b",
        [f"{KV}=8"],
        ["x 8 = 64 are more than 32 query heads", "Write 4"],
        [],
    ),
    "KV heads by TP": (
        "llama-3-8b",
        [f"{TP}=16", f"{KV}=3"],
        ["16 workers are not a multiple of 3", "Write 2"],
        [f"{TP}=16", f"{KV}=2"],
    ),
    "uneven query groups": (
        "llama-3-8b",
        ["model.num_key_value_heads=6"],
        ["32 query heads", "6 key and value heads"],
        [],
    ),
    "sequence too long": (
        "llama-2-7b",
        ["data.sequence_length=8192"],
        ["8192 tokens", "4096"],
        ["data.sequence_length=2048"],
    ),
    "sequence by TP": (
        "llama-2-7b",
        ["data.sequence_length=4092"],
        ["4092", "8 workers", "Write 4088"],
        ["data.sequence_length=4088"],
    ),
    "nodes": ("llama-2-7b", ["hardware.nodes=65"], ["65 nodes trn1.32xlarge", "at most 64"], ["hardware.nodes=64"]),
    "no EFA on the type": (
        "bert-large-phase-1",
        ["hardware.instance_type=trn1.2xlarge", "hardware.nodes=2"],
        ["2 nodes, and trn1.2xlarge has no EFA", "trn1.32xlarge"],
        ["hardware.instance_type=trn1.2xlarge", "hardware.nodes=1"],
    ),
    "workers": (
        "llama-2-7b",
        ["hardware.workers_per_node=64"],
        ["64 workers", "32 logical"],
        ["hardware.workers_per_node=32"],
    ),
    "no such type": ("llama-2-7b", ["hardware.instance_type=trn2.48xlarge"], ["trn2.48xlarge", "trn1.32xlarge"], []),
    "no such queue": (
        "llama-2-7b",
        ["hardware.queue=trn"],
        ["no queue `trn`", "Did you mean `trn1`?"],
        ["hardware.queue=trn1"],
    ),
    "no accelerator": ("llama-2-7b", ["hardware.instance_type=c7i.8xlarge"], ["c7i.8xlarge", "no training stack"], []),
    "framework of the stack": (
        "llama-2-7b",
        ["hardware.framework=native", "parallelism.strategy=fully_sharded"],
        ["xla-2.28", "`native`"],
        [],
    ),
    "strategy and framework": (
        "llama-2-7b",
        ["parallelism.strategy=fully_sharded"],
        ["framework native and architecture llama"],
        [],
    ),
    "BERT and tensors": (
        "bert-large-phase-1",
        ["parallelism.strategy=tensor_parallel"],
        ["framework xla and architecture llama", "data_parallel"],
        [],
    ),
    "options of a strategy": (
        "bert-large-phase-1",
        [f"{TP}=2"],
        ["data_parallel", "(got 2)", "Leave it out"],
        [f"{TP}=1"],
    ),
    "LAMB on shards": ("llama-2-7b", ["optimizer.name=lamb"], ["norm of whole weights"], ["optimizer.name=adamw"]),
    "tied embeddings": ("llama-3-70b", ["model.tie_word_embeddings=true"], ["of 8 stages"], []),
    "warm-up": (
        "llama-2-7b",
        ["optimizer.warmup_steps=10000"],
        ["10000 steps of warm-up in 10000"],
        ["optimizer.warmup_steps=9999"],
    ),
    "learning rate": (
        "llama-2-7b",
        ["optimizer.minimum_learning_rate=0.001"],
        ["0.001", "0.0003"],
        ["optimizer.minimum_learning_rate=0.0003"],
    ),
    "byte-level rows": (
        "llama-2-7b",
        ["data.tokenizer=byte-level", "model.eos_token_id=1", "model.vocab_size=256"],
        ["256 rows", "384 tokens"],
        [],
    ),
    "end of text": (
        "llama-2-7b",
        ["data.tokenizer=byte-level"],
        ["2", "end with token 1"],
        ["data.tokenizer=byte-level", "model.eos_token_id=1"],
    ),
    "token outside": (
        "llama-2-7b",
        ["model.eos_token_id=32000"],
        ["32000 is not one of the 32000"],
        ["model.eos_token_id=31999"],
    ),
    "export cores": (
        "llama-2-7b",
        ["publish.export.tensor_parallel_size=4"],
        ["4 NeuronCores", "inf2.8xlarge has 2", "Write 1 or 2"],
        ["publish.export.tensor_parallel_size=2"],
    ),
    "export memory": (
        "llama-2-7b",
        ["publish.export.batch_size=16"],
        ["16.0 GiB", "weights 6.3", "keys and values 16.0"],
        ["publish.export.batch_size=8"],
    ),
    "export length": (
        "llama-2-7b",
        ["publish.export.sequence_length=5000"],
        ["5000", "4096"],
        ["publish.export.sequence_length=4000"],
    ),
    "export of few tokens": (
        "small-llama",
        ["model.vocab_size=384"],
        ["384 rows are 192 on each of 2 NeuronCores", "Write 512 or more"],
        ["model.vocab_size=384", "publish.export.tensor_parallel_size=1"],
    ),
    "export too long for the model without an endpoint": (
        "llama-2-7b",
        ["publish.model=kitsune", "publish.export.sequence_length=5000"],
        ["5000", "4096"],
        ["publish.model=kitsune"],
    ),
}


@pytest.mark.parametrize(("recipe", "wrong", "parts", "right"), CASES.values(), ids=CASES.keys())
def test_refuses_with_the_numbers(recipe: str, wrong: list[str], parts: list[str], right: list[str]) -> None:
    problems = problems_of(recipe, *wrong)
    assert any(all(part in problem for part in parts) for problem in problems), problems
    assert problems_of(recipe, *right) == []


def test_refuses_what_the_compiler_makes_of_float32_where_it_does_not() -> None:
    [problem] = problems_of(
        "llama-3-8b-native", "precision=float16", "parallelism.tensor_parallel_size=8", where="trn2"
    )
    assert "`float16` of float32 (`--auto-cast`) with framework xla, not on framework native" in problem
    own = "environment_variables.NEURON_CC_FLAGS=--model-type transformer"
    [problem] = problems_of("llama-2-7b", "precision=tf32", own)
    assert "your NEURON_CC_FLAGS have no `--auto-cast`" in problem
    assert problems_of("llama-2-7b", "precision=tf32", f"{own} --auto-cast=all --auto-cast-type=tf32") == []


def test_refuses_an_export_for_which_the_service_is_not_made() -> None:
    trn1 = environment("trn1")
    shape = CompiledShape(batch_size=8, sequence_length=4096, tensor_parallel_size=2)
    services = [service.model_copy(update={"compiled": shape}) for service in trn1.inference]
    there = trn1.model_copy(update={"inference": tuple(services)})
    [problem] = problems_of("llama-2-7b", where=there)
    assert "batch_size" in problem
    assert "4, and the endpoint's service is for models that are compiled with 8" in problem
    assert problems_of("llama-2-7b", "publish.export.batch_size=8", where=there) == []


@pytest.mark.parametrize(
    ("engine", "release", "reason"),
    [
        ("vllm-aws", "2.31.1", "engine vllm-aws has Neuron SDK 2.31.1, and there is an exporter for"),
        ("vllm-neuron", "2.32.0", "engine vllm-neuron has Neuron SDK 2.32.0, and there is an exporter for"),
        ("tgi", None, "the Neuron release in the image of engine tgi is not known"),
    ],
)
def test_refuses_before_the_training_an_export_that_no_exporter_makes(
    engine: str, release: str | None, reason: str
) -> None:
    trn1 = environment("trn1")
    services = [service.model_copy(update={"engine": engine, "engine_release": release}) for service in trn1.inference]
    there = trn1.model_copy(update={"inference": tuple(services)})
    (problem,) = problems_of("tanuki-8b", where=there)
    assert reason in problem
    assert "publish.export=null" in problem


def test_says_that_a_model_without_a_service_is_published_uncompiled() -> None:
    [notice] = estimate_of("llama-2-7b", "publish.model=kitsune").notices
    assert notice.startswith("publish.export: the endpoint has no model `kitsune`, only `llama-2-7b`")
    assert "the model is published uncompiled. To compile it, add `kitsune` to `inference.models`" in notice
    nowhere = environment("trn1").model_copy(update={"inference": ()})
    [notice] = estimate_of("llama-2-7b", where=nowhere).notices
    assert notice.startswith("publish.export: the environment trn1 has no endpoint: the model is published uncompiled.")
    assert estimate_of("llama-2-7b", "publish.model=kitsune", "publish.export=null").notices == ()


LARGER_HOSTS: Mapping[str, Mapping[str, Any]] = {
    "inf2.medium": {"memory_gib": 20},
    "trn1.2xlarge": {"memory_gib": 32, "usd_per_hour": 1.34375},
    "trn1.16xlarge": {"memory_gib": 512, "usd_per_hour": 21.5},
    "inf2.24xlarge": {"memory_gib": 384, "usd_per_hour": None},
}


def test_the_kit_and_the_environment_file_say_it_from_the_same_share_on() -> None:
    assert HOST_SHARE == facts.HOST_SHARE


def test_says_that_a_host_is_small_for_the_weights_that_pass_through_its_memory() -> None:
    trn1 = environment("trn1")
    host = trn1.instance_types["inf2.8xlarge"].model_copy(update={"memory_gib": 16})
    small = trn1.model_copy(update={"instance_types": {**trn1.instance_types, "inf2.8xlarge": host}})
    [notice] = estimate_of("tanuki-8b", where=small).notices
    assert "the weights (14.0 GiB) take 87% of the 16 GiB of host memory that inf2.8xlarge loads them" in notice
    assert "No host of vllm-hf in us-east-1 has more memory: publish a smaller model." in notice
    larger = {name: host.model_copy(update=changes) for name, changes in LARGER_HOSTS.items()}
    service = small.inference[0].model_copy(update={"larger_hosts": tuple(larger)})
    offered = small.model_copy(update={"instance_types": small.instance_types | larger, "inference": (service,)})
    [notice] = estimate_of("tanuki-8b", f"publish.model={service.model}", where=offered).notices
    assert notice.endswith(
        "Choose a larger `instance_type` of the model in the environment file: trn1.2xlarge ($1.34 an hour, list "
        "price) or inf2.24xlarge (no on-demand price)."
    )


def test_refuses_what_no_core_can_hold_and_names_the_single_changes_that_fit() -> None:
    [problem] = problems_of("llama-3-8b", f"{TP}=4", f"{KV}=1")
    assert problem.startswith(f"--set {TP}=4: a worker needs 2")
    assert "has 16.0: weights 3.7 + gradients 7.5-11.2 + optimizer (ZeRO-1) 0.7 + activations 10." in problem
    assert f"`{TP}: 16 (and kv_size_multiplier: 2)`" in problem
    for change in ([f"{TP}=16", f"{KV}=2"], [f"{TP}=32", f"{KV}=4"]):
        assert problems_of("llama-3-8b", *change) == []
        assert estimate_of("llama-3-8b", *change).notices == ()


def test_refuses_a_node_whose_memory_cannot_hold_the_job() -> None:
    trn1 = environment("trn1")
    small = trn1.instance_types["trn1.32xlarge"].model_copy(update={"memory_gib": 64})
    there = trn1.model_copy(update={"instance_types": {**trn1.instance_types, "trn1.32xlarge": small}})
    [problem] = problems_of("llama-2-7b", where=there)
    assert "the train job on a node needs 117.0-196.4 GiB of host memory and has 64.0: processes 48.0-96.0" in problem


def test_tells_where_the_compiler_may_take_more_memory_than_a_node_has() -> None:
    notices = estimate_of("bert-large-phase-1", "hardware.instance_type=trn1.2xlarge", "hardware.nodes=1").notices
    assert any("the compile job on a node needs 7.0-198.0 GiB of host memory and has 32.0" in item for item in notices)


def test_tells_what_llama_3_8b_would_need_with_the_tutorials_tensor_parallel_size() -> None:
    [notice] = estimate_of("llama-3-8b", f"{TP}=8", f"{KV}=1").notices
    assert "a worker needs 13.2-19.3 GiB of device memory and has 16.0" in notice
    assert estimate_of("llama-3-8b").notices == ()


def test_refuses_a_queue_without_efa_and_a_stack_that_the_kit_does_not_run_with() -> None:
    trn1 = environment("trn1")
    queues = tuple(queue.model_copy(update={"efa": False}) for queue in trn1.queues)
    [problem] = problems_of("llama-2-7b", where=trn1.model_copy(update={"queues": queues}))
    assert "4 nodes, and EFA is off in the queue `trn1`" in problem
    stacks = {"xla-2.28": trn1.training_stacks["xla-2.28"].model_copy(update={"job_kit": False})}
    [problem] = problems_of("llama-2-7b", where=trn1.model_copy(update={"training_stacks": stacks}))
    assert "does not run with the training stack `xla-2.28`" in problem


def test_trn2_repeats_a_head_for_each_worker() -> None:
    trn2 = environment("trn2")
    stacks = {"native-2.33": trn2.training_stacks["native-2.33"].model_copy(update={"framework": "xla"})}
    there = trn2.model_copy(update={"training_stacks": stacks})
    on_trn2 = ["hardware.instance_type=trn2.48xlarge", f"{TP}=8"]
    [problem] = problems_of("llama-3-8b", *on_trn2, f"{KV}=2", where=there)
    assert "8 key and value heads x 2 = 16 are not 8 workers, and on trn2.48xlarge" in problem
    assert problems_of("llama-3-8b", *on_trn2, f"{KV}=1", where=there) == []


@pytest.mark.parametrize(
    ("variable", "part"),
    [
        ("PYTHONPATH", "the job scripts set it themselves"),
        ("SLURM_JOB_ID", "the job scripts set it themselves"),
        ("WANDB_API_KEY", "its name says that it is a secret"),
        ("HF_TOKEN", "its name says that it is a secret"),
        ("AWS_SECRET_ACCESS_KEY", "its name says that it is a secret"),
    ],
)
def test_own_variables_keep_off_the_scripts_and_hold_no_secret(variable: str, part: str) -> None:
    [problem] = problems_of("llama-3-8b", f"environment_variables.{variable}=x")
    assert f"environment_variables.{variable}" in problem
    assert part in problem
    for fine in ("NEURON_RT_LOG_LEVEL=INFO", "TOKENIZERS_PARALLELISM='true'", "KEYBOARD=x", "MASTERKEYS=x"):
        assert problems_of("llama-3-8b", f"environment_variables.{fine}") == []


def test_native_is_not_compiled_ahead_of_time() -> None:
    [problem] = problems_of("llama-3-8b-native", "compile.ahead_of_time=true", where="trn2")
    assert "neuron_parallel_compile" in problem
    assert problems_of("llama-3-8b-native", where="trn2") == []


@pytest.mark.parametrize(
    ("recipe", "overrides", "part"),
    [
        ("llama-2-7b", ["hardware.workers_per_node=16"], "16 workers on 32 logical NeuronCores: 16 stay idle"),
        ("llama-3-70b", ["model.num_hidden_layers=81"], "81 layers in 8 stages"),
        ("llama-2-7b", ["checkpoint.interval_steps=10000"], "10000 steps between checkpoints in 10000 steps"),
        (
            "llama-3-70b",
            ["restarts.time_limit_hours=1"],
            "a step and two checkpoints before the end take up to 4682 s of 3600",
        ),
        (
            "llama-3-70b",
            ["restarts.time_limit_hours=1", "checkpoint.asynchronous=false"],
            "a step and a checkpoint before the end take up to 2507 s of 3600",
        ),
        ("llama-3-70b", ["restarts.hang_minutes=30"], "s, and 1800 s without one end the job"),
        (
            "llama-2-7b",
            ["checkpoint.interval_steps=10", "checkpoint.asynchronous=false"],
            "a checkpoint of 94 GB takes 87-197 s at 1200 MB/s",
        ),
        ("llama-3-70b", ["checkpoint.interval_steps=1"], "Write 7 or more, or raise the throughput of /fsx"),
    ],
)
def test_tells_what_works_and_a_person_should_know(recipe: str, overrides: list[str], part: str) -> None:
    assert any(part in notice for notice in estimate_of(recipe, *overrides).notices)
    assert estimate_of(recipe).notices == ()


@pytest.mark.parametrize(
    ("recipe", "seconds", "told"),
    [
        (
            "llama-3-70b",
            3600,
            "a step and two checkpoints before the end take up to 4682 s, and Slurm kills the job 3600 s",
        ),
        ("llama-3-70b", 4800, None),
        ("llama-3-70b", None, None),
        ("tiny-llama", 30, None),
    ],
)
def test_tells_when_slurm_kills_a_job_before_it_has_saved(recipe: str, seconds: int | None, told: str | None) -> None:
    where = environment("cpu" if recipe == "tiny-llama" else "trn1").model_copy(update={"kill_wait_seconds": seconds})

    notices = estimate_of(recipe, where=where).notices

    assert [notice.startswith(f"checkpoint: {told}") for notice in notices] == ([True] if told else [])


def test_the_mlp_computed_again_saves_memory_and_costs_time() -> None:
    kept, again = (estimate_of("llama-3-70b", f"{RECOMPUTED}={value}") for value in ("selective", "selective_mlp"))
    assert kept.device_memory is not None
    assert again.device_memory is not None
    assert again.device_memory.total.high < kept.device_memory.total.high - 3 * 1024**3
    assert kept.tokens_per_second is not None
    assert again.tokens_per_second is not None
    assert kept.tokens_per_second.high / again.tokens_per_second.high == pytest.approx(1.25, abs=0.03)
