"""A recipe: what `slipway-job submit` turns into a chain of jobs."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from slipway_jobs.recipe.architecture import Architecture, PositiveInt
from slipway_jobs.recipe.section import Section

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$")]
"""Lower-case letters, digits, `.` and `-`, 63 at most: part of paths, S3 keys and job names."""


Precision = Literal["bfloat16", "float16", "tf32", "float32"]
"""What a training computes in."""


class Hardware(Section):
    """The nodes that the train job takes."""

    device: Literal["neuron", "cpu"] = "neuron"
    """`neuron` trains on Trainium; `cpu` trains with gloo on the processors, to try a recipe out."""

    framework: Literal["xla", "native"]
    """`xla` is PyTorch/XLA with NeuronX Distributed (Trn1), `native` is TorchNeuron (Trn2); on `cpu` it chooses the
    code that would run there."""

    instance_type: str | None = None
    """EC2 instance type of the nodes, for example `trn1.32xlarge`; left out with `cpu`, where any queue will do."""

    queue: str | None = None
    """Slurm partition; left out, the first one that has the instance type."""

    nodes: PositiveInt
    """Nodes of the train job and of the compile job: graphs depend on the number of workers."""

    workers_per_node: PositiveInt | None = None
    """Training processes on a node; left out, one for each logical NeuronCore. Required with `cpu`."""


class Validation(Section):
    """Text that is not trained on, and when the loss over it is measured: also after the last step."""

    source: str
    """As `data.source`; all else is as for the text to train on."""

    interval_steps: PositiveInt
    """Optimizer steps between two measurements."""

    batches: PositiveInt
    """Batches of `batch.global_size` samples that are read each time, the same ones. One takes a third of a step."""


class Data(Section):
    """The text to train on."""

    source: str
    """File, folder or pattern (`/fsx/data/wiki/*.jsonl`) of .jsonl, .parquet or .txt files, or of .bin files with token
    ids (Megatron's, with an .idx file beside each); a relative path counts from the recipe's folder."""

    text_field: str = "text"
    """Field of a JSON line or Parquet row that holds the text."""

    tokenizer: str
    """Folder of a tokenizer, its name on the Hugging Face Hub, or `byte-level`, which needs no file (384 tokens)."""

    sequence_length: Annotated[int, Field(ge=8)]
    """Tokens of a sample."""

    seed: Annotated[int, Field(ge=0)] = 42
    """Where the order of the samples, dropout and masking come from."""

    validation: Validation | None = None
    """Left out, no validation loss is measured."""


def _fused_by_default(fields: dict[str, Any]) -> bool:
    """Do as NeuronX Distributed's example and NxD Training.

    Sources: neuronx-distributed v2.28.0, examples/training/llama/tp_zero1_llama_hf_pretrain/
    tp_zero1_llama_hf_pretrain.py, line 667, and src/neuronx_distributed/modules/qkv_linear.py, line 432;
    neuronx-distributed-training 9169aa0, docs/general/config_overview.rst, lines 535-539 ("can improve throughput").
    """
    return fields.get("strategy") == "tensor_parallel"


class Parallelism(Section):
    """How the model is split over the workers; what is left of them is data parallelism."""

    strategy: Literal["data_parallel", "tensor_parallel", "fully_sharded"]
    """`data_parallel`: the whole model on each worker. `tensor_parallel`: NeuronX Distributed with tensor and pipeline
    parallelism and ZeRO-1 (framework `xla`). `fully_sharded`: FSDP2 with tensor parallelism (framework `native`)."""

    tensor_parallel_size: PositiveInt = 1
    """Workers that share each layer."""

    pipeline_parallel_size: PositiveInt = 1
    """Stages that the layers are divided into; `tensor_parallel` only."""

    kv_size_multiplier: PositiveInt = 1
    """How often key and value heads are repeated so that each worker of a tensor-parallel group has at least one."""

    fuse_qkv: bool = Field(default_factory=_fused_by_default)
    """Whether query, key and value weights are one matrix; left out, with `tensor_parallel`."""

    activation_checkpointing: Literal["none", "selective", "selective_mlp", "full"] = "selective"
    """What is computed again in the backward pass to save device memory: nothing, attention, attention and MLP (with
    `tensor_parallel`), whole layers. There attention is its scores, of which the flash attention kernel, for sequences
    that are a multiple of 2,048, keeps none anyway."""

    def recomputes(self, part: Literal["attention", "mlp"]) -> bool:
        """Return whether a part of each layer is computed again in the backward pass."""
        return {"none": False, "selective": part == "attention"}.get(self.activation_checkpointing, True)


class Batch(Section):
    """How many samples make an optimizer step."""

    global_size: PositiveInt
    """Samples of a step over all workers."""

    micro_size: PositiveInt = 1
    """Samples of one forward pass on one worker."""


class Optimizer(Section):
    """How weights change."""

    name: Literal["adamw", "lamb"] = "adamw"
    """AdamW, or LAMB for large batches of BERT."""

    learning_rate: Annotated[float, Field(gt=0)]
    """Peak learning rate, reached after the warm-up."""

    minimum_learning_rate: Annotated[float, Field(ge=0)] = 0.0
    """Learning rate at the last step; with `decay_steps: 0` it is not reached."""

    schedule: Literal["cosine", "linear"] = "cosine"
    """How it falls from one to the other."""

    decay_steps: Annotated[int, Field(ge=0)] | None = None
    """Steps at the end in which it falls; before, it stays at the peak (warmup-stable-decay, WSD). Left out, it falls
    from the end of the warm-up; 0 keeps it constant."""

    warmup_steps: Annotated[int, Field(ge=0)] = 0
    """Steps in which it rises from 0."""

    weight_decay: Annotated[float, Field(ge=0)] = 0.1
    """Weight decay; biases and norms have none."""

    beta1: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """Decay of the mean gradient."""

    beta2: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Decay of the mean squared gradient."""

    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    """Added to the denominator."""

    gradient_clipping: Annotated[float, Field(gt=0)] = 1.0
    """Largest norm of the gradient."""


class Checkpoint(Section):
    """When the state is saved to /fsx."""

    interval_steps: PositiveInt
    """Steps between two checkpoints; the last step and a signal save one too."""

    keep: PositiveInt = 3
    """Complete checkpoints that stay on /fsx; older ones are removed."""

    asynchronous: bool = True
    """Whether training goes on while a copy of the state in host memory is written; `false` waits for the files."""


class Compile(Section):
    """The compile job, which runs before the train job on as many nodes."""

    ahead_of_time: bool = True
    """Whether neuron_parallel_compile collects and compiles the graphs; without it the job just takes its steps, which
    fills the compile cache of framework `native` and tries the recipe out on `cpu`."""

    steps: Annotated[int, Field(ge=1, le=100)] = 4
    """Training steps that the job takes; one more follows, as after a resume."""


class Restarts(Section):
    """What happens when the train job fails or is told to stop."""

    limit: Annotated[int, Field(ge=0, le=100)] = 3
    """Failures after which the chain is given up. A stop by signal (time limit, Spot, maintenance) does not count."""

    time_limit_hours: Annotated[int, Field(ge=1, le=720)] = 48
    """Slurm's time limit for one run of the train job; shortly before it a checkpoint is saved and the job queued
    again."""

    hang_minutes: Annotated[int, Field(ge=1, le=1440)] = 30
    """Minutes without a step or a checkpoint after which a worker ends the train job. This counts as a failure. The
    first two steps of a start are not timed: they may compile."""


class Export(Section):
    """Compiles the converted model for the endpoint (optimum-neuron), on a node without accelerator."""

    batch_size: PositiveInt
    """Requests that the engine answers at once."""

    sequence_length: PositiveInt
    """Longest prompt and answer together, in tokens."""

    tensor_parallel_size: PositiveInt
    """NeuronCores of the endpoint's host that share the model."""


class Publish(Section):
    """What goes to the model bucket."""

    model: Name
    """The model's name: its versions are folders below it."""

    version: Name | None = None
    """The version; left out, the run's name."""

    export: Export | None = None
    """How to compile it for the endpoint; left out, it is published as the transformers library reads it."""


VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""Name of an environment variable, as a shell takes it."""


class Recipe(Section):
    """What to train, where, and what becomes of it."""

    name: Name
    """The recipe's name, and the run's where no other is given."""

    model: Architecture
    """The model."""

    initial_weights: str | None = None
    """Folder of a model in the transformers format to go on from; left out, weights start at random."""

    hardware: Hardware
    """The nodes."""

    data: Data
    """The text."""

    parallelism: Parallelism
    """The split."""

    precision: Precision = "bfloat16"
    """`bfloat16` computes in bfloat16, with weights and optimizer states kept in float32; `float32` does all in it.
    `tf32` and `float16` are `float32` whose matrix products neuronx-cc casts to that type (`--auto-cast=matmult`), on
    Trainium with framework `xla` only; float16 has the smaller range, and losses are not scaled."""

    batch: Batch
    """Samples of a step."""

    steps: PositiveInt
    """Optimizer steps of the whole training."""

    optimizer: Optimizer
    """How weights change."""

    checkpoint: Checkpoint
    """When the state is saved."""

    compile: Compile = Compile()
    """The compile job."""

    restarts: Restarts = Restarts()
    """Failures and time limit."""

    environment_variables: dict[VariableName, str] = Field(default_factory=dict)
    """Environment variables of the compile and train jobs. They win over Slipway's own; secrets are refused."""

    publish: Publish | None = None
    """Left out, the chain ends with the converted model on /fsx."""

    @property
    def weights_precision(self) -> Literal["bfloat16", "float32"]:
        """Type of the model's weights: what the compiler casts is weights of float32."""
        return "bfloat16" if self.precision == "bfloat16" else "float32"
