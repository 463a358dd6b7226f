# Made by scripts/write_python_stubs.py from the program's own options; tests/python holds it to them.
from os import PathLike
from typing import Any

_Path = str | PathLike[str]
_Value = str | int | float
_List = str | list[str] | tuple[str, ...]

def fit(
    model: _Path, on: str | None = ...,
    *,
    gpus: _Value | _Path | None = ...,  # GPUs of this kind; other stacks share the batch over them
    machine: _Value | _Path | None = ...,  # a machine described in a JSON file
    ram: _Value | _Path | None = ...,  # host memory, e.g. 16GiB
    ssd: _Value | _Path | None = ...,  # SSD capacity[:read,write GB/s][xN][@GB/s shared], e.g. 2TB:3.5,1.7; on this computer, …
    ssd_folder: _Value | _Path | None = ...,  # where SSD data goes on this computer: a folder that can be written, on a local …
    pcie: _Value | _Path | None = ...,  # generation x lanes, e.g. 3x16
    cpu_cores: _Value | _Path | None = ...,  # CPU cores
    dram_bandwidth: _Value | _Path | None = ...,  # GB/s that host memory reaches
    device_memory: _Value | _Path | None = ...,  # cap on device memory, e.g. 512MiB
    desktop: bool | None = ...,  # the GPU drives a desktop too
    os: _Value | _Path | None = ...,  # linux, wsl2 or windows: what of the GPU's and the host's memory a program can have
    batch: _Value | _Path | None = ...,  # sequences per micro-batch
    accumulate: _Value | _Path | None = ...,  # micro-batches per optimizer step
    global_batch: _Value | _Path | None = ...,  # sequences per optimizer step
    seq: _Value | _Path | None = ...,  # tokens per sequence (default: the model's positions, at most 1024)
    target_seq: _Value | _Path | None = ...,  # tokens that the decoder of T5 reads (default: as many as --seq)
    classes: _Value | _Path | None = ...,  # put a new head on an encoder, which tells so many classes apart
    precision: _Value | _Path | None = ...,  # fp32, tf32, fp16-mixed, bf16-mixed or bf16 (default: by the GPU's generation)
    loss_scale: _Value | _Path | None = ...,  # of fp16-mixed: dynamic, dynamic:START[:INTERVAL], or a number that stays
    optimizer: _Value | _Path | None = ...,  # sgd, momentum, adam, adamw, adam8bit, adafactor, sm3, lamb, lars, lion, muon …
    clip: _Value | _Path | None = ...,  # bound of the global gradient norm, 0 for none
    lora: _Value | _Path | None = ...,  # RANK[:TARGETS]: freeze the model and train low-rank adapters beside …
    lora_alpha: _Value | _Path | None = ...,  # what adapters add is scaled by alpha / rank (default: twice the rank)
    base_bits: _Value | _Path | None = ...,  # keep the matrices of the frozen model's blocks in 4 (nf4), 8 or 16 (bf16) bits …
    lora_dropout: _Value | _Path | None = ...,  # share of what adapters read that is dropped (only under another --stack)
    dora: bool | None = ...,  # adapters with a magnitude of every output beside them (DoRA; only under another --stack)
    peft: _Value | _Path | None = ...,  # METHOD[:RANK][:TARGETS], another of PEFT's in --lora's place: dora, adalora, vera, …
    train_also: _Value | _Path | None = ...,  # embed, head or embed,head: copies of them are trained beside the adapters …
    stack: _Value | _Path | None = ...,  # the program that trains: plimsoll, pytorch, deepspeed, colossalai, megatron, llm.c
    modules: _Value | _Path | None = ...,  # whose layers another stack runs: huggingface, nanogpt, mosaic, litgpt, torchtune, …
    compile: bool | None = ...,  # torch.compile; of torchtune modules the loss too
    fp8: _Value | _Path | None = ...,  # linear layers of the blocks multiply in fp8 (Transformer Engine; torchao of torchtune …
    fp8_params: bool | None = ...,  # weights of such layers are in fp8 themselves (megatron: --fp8-param-gather)
    fp8_wide_ends: _Value | _Path | None = ...,  # blocks at either end that stay in bf16 with --fp8 (NeMo's current scaling: 1)
    attention: _Value | _Path | None = ...,  # eager, efficient or flash (default: the fastest that there is)
    recompute: _Value | _Path | None = ...,  # activation checkpointing of another stack: none, selective, full, every:K
    compress_activations: _Value | _Path | None = ...,  # how feature maps of a convolutional net wait for the backward pass …
    relu_zeros: _Value | _Path | None = ...,  # share of what a ReLU makes that is zero, with --compress-activations (default: …
    channels_last: bool | None = ...,  # feature maps of a convolutional net are stored pixel by pixel (torch.channels_last)
    optimizer_loop: _Value | _Path | None = ...,  # foreach, fused or for-loop
    dropout: _Value | _Path | None = ...,  # of a model under another stack (default: its family's)
    kbit_preparation: _Value | _Path | None = ...,  # yes or no: PEFT's prepare_model_for_kbit_training of a base of 4 or 8 …
    double_quant: _Value | _Path | None = ...,  # yes or no: the scales of a 4-bit base are quantized once more …
    lengths: _Value | _Path | None = ...,  # sequences of varying length, the longest of them --seq: 91..2048, or a file with …
    module_loading: _Value | _Path | None = ...,  # when the driver loads kernels (CUDA_MODULE_LOADING): lazy, or eager as …
    rotary_tables: bool | None = ...,  # every layer keeps cosines and sines of all positions (transformers' models of early …
    half_logits: bool | None = ...,  # the loop computes the loss itself, of logits in the type that the products gave them
    zero: _Value | _Path | None = ...,  # ZeRO stage over the GPUs (3: FSDP)
    dp: _Value | _Path | None = ...,  # GPUs that share the batch
    loss_chunks: _Value | _Path | None = ...,  # parts of the batch whose logits meet the loss one after another
    update_in_backward: bool | None = ...,  # every parameter is updated as soon as its gradient is there
    tp: _Value | _Path | None = ...,  # GPUs that share each layer (megatron)
    pp: _Value | _Path | None = ...,  # stages of a pipeline (megatron)
    chunks: _Value | _Path | None = ...,  # chunks of layers that a stage interleaves (megatron)
    cp: _Value | _Path | None = ...,  # GPUs that share a sequence (megatron)
    sequence_parallel: bool | None = ...,  # norms and dropouts on a part of the sequence (megatron), or not (--no-sequence- …
    no_sequence_parallel: bool | None = ...,  # norms and dropouts on a part of the sequence (megatron), or not (--no- …
    no_overlap_comm: bool | None = ...,  # one reduction bucket of deepspeed instead of two; of megatron, nothing is sent …
    reduce_in: _Value | _Path | None = ...,  # type in which gradients are summed and sent (megatron): fp32 as Megatron-LM, …
    nodes: _Value | _Path | None = ...,  # nodes that the GPUs are on (default: 8 GPUs a node)
    network: _Value | _Path | None = ...,  # between nodes: 25GB/s a GPU or 8x200Gb/s a node, with @5us for the latency
    reduce_bucket: _Value | _Path | None = ...,  # elements that deepspeed reduces at once
    deterministic: bool | None = ...,  # cuBLAS with fixed workspaces (CUBLAS_WORKSPACE_CONFIG=:4096:8)
    expandable_segments: bool | None = ...,  # of PyTorch's allocator
    offload: _List | None = ...,  # what waits elsewhere under another stack: optimizer:cpu, params:ssd, activations:cpu
    zenflow: _Value | _Path | None = ...,  # share of gradient columns that the GPU updates in every step (deepspeed; 0.05 to …
    zenflow_every: _Value | _Path | None = ...,  # steps after which ZenFlow updates the others in host memory
    placement: _Value | _Path | None = ...,  # of Gemini's chunks: static, or auto (what a warm-up leaves of the GPU is filled)
    strategy: _Value | _Path | None = ...,  # auto, all, resident, recompute, offload-optimizer, offload-optimizer-overlapped, …
    calibration: _Value | _Path | None = ...,  # measurements that replace the catalogue's: a run file, or CSV or JSON of …
    tokens: _Value | _Path | None = ...,  # how long the training is: 300B, chinchilla (20 a parameter), chinchilla:40, or a …
    samples: _Value | _Path | None = ...,  # the same in sequences or images: 1.2M, imagenet, coco, laion-5b
    epochs: _Value | _Path | None = ...,  # how often over --tokens or --samples
    price: _Value | _Path | None = ...,  # of a GPU with its share of the machine, an hour
    electricity: _Value | _Path | None = ...,  # price of a kWh
    tbw: _Value | _Path | None = ...,  # bytes that all drives are rated for, e.g. 600TB (default: 600 TB a TB)
    checkpoint_hours: _Value | _Path | None = ...,  # between two checkpoints (default: 1)
    prepare: _Value | _Path | None = ...,  # tokenize and decode ahead (texts' default), online (images' default) or none: it …
    workload: _Value | _Path | None = ...,  # what to do with the model, beside training it: inference, dpo, ppo, diffusion, …
    prompt: _Value | _Path | None = ...,  # inference: tokens of each prompt (512)
    new_tokens: _Value | _Path | None = ...,  # inference: tokens written behind it (32)
    gpu_batch: _Value | _Path | None = ...,  # inference: sequences that the device works on at once; left out: searched
    percent: _Value | _Path | None = ...,  # inference: weights on GPU, on CPU, cache on GPU, on CPU, activations on GPU, on …
    cpu_attention: _Value | _Path | None = ...,  # inference: the CPU attends to the cache that is not on the device
    weight_bits: _Value | _Path | None = ...,  # inference: 16, 8 or 4 bits a weight (groups of 64)
    cache_bits: _Value | _Path | None = ...,  # inference: 16, 8 or 4 bits of keys and values
    pageable: _Value | _Path | None = ...,  # inference: what of host memory is not pinned
    eager_codes: bool | None = ...,  # inference: codes are read by chains of elementwise kernels
    program: _Value | _Path | None = ...,  # inference: whose schedule: flexgen, accelerate, zero-inference (DeepSpeed from …
    no_overlap: bool | None = ...,  # inference: transfers wait for computation
    image: _Value | _Path | None = ...,  # pixels of an image's height and width (diffusion: 512, of dit 256; nets and vision …
    residues: _Value | _Path | None = ...,  # evoformer: residues of a crop (256)
    msa: _Value | _Path | None = ...,  # evoformer: sequences of the alignment (128)
    attention_chunk: _Value | _Path | None = ...,  # evoformer: rows that attention takes at once (all)
    dap: _Value | _Path | None = ...,  # evoformer: GPUs that share one alignment (FastFold's dynamic axial parallelism)
    critic: _Value | _Path | None = ...,  # ppo: the critic's model (as the actor)
    reward: _Value | _Path | None = ...,  # ppo: the reward model (as the actor)
    ppo_epochs: _Value | _Path | None = ...,  # ppo: times that is learnt from what was generated
    collective_sms: _Value | _Path | None = ...,  # multiprocessors that a collective takes from kernels beside it: NCCL's …
    ep: _Value | _Path | None = ...,  # data ranks that share the experts
    schedule: _Value | _Path | None = ...,  # of a pipeline: 1f1b, interleaved, zb-h1, … (plimsoll schedule --list)
    micro_batch: _Value | _Path | None = ...,  # sequences of a micro-batch
    context: _Value | _Path | None = ...,  # how --cp ranks share a sequence: ring or ulysses
    tensor_layout: _Value | _Path | None = ...,  # how --tp ranks stand: 1d (Megatron-LM), 2d, 2.5d:DEPTH or 3d (Colossal-AI)
    imbalance: _Value | _Path | None = ...,  # tokens of the fullest expert rank, over the mean (default: what chance makes of …
    gating: _Value | _Path | None = ...,  # of experts: one-level, or two-level:GROUPS/CHOSEN: groups first, each on --ep …
    slow_rank: _List | None = ...,  # a straggler: RANK=FACTOR, may be repeated
    exact: bool | None = ...,  # simulate every rank, not one of each kind
    gradients_at_end: bool | None = ...,  # data ranks reduce gradients after the last backward pass, not beside it
    partition_activations: bool | None = ...,  # with --recompute full, each of the --tp GPUs keeps its part of a block's …
    tp_comm_overlap: bool | None = ...,  # products of the --tp GPUs are cut into pieces beside which they send (Transformer …
    save_strategy: _Value | _Path | None = ...,  # write what was found where it can be edited for --strategy FILE
    margin_of: _Value | _Path | None = ...,  # does the plan stay the best when kernels and links are off by so many percent?
    durability: _Value | _Path | None = ...,  # what outlives a kill or a loss of power: none, checkpoint (of every --save- …
    save_every: _Value | _Path | None = ...,  # steps between checkpoints (one is always written at the end)
    what_would_help: bool | None = ...,  # every single change of machine and training, simulated
    all_changes: bool | None = ...,  # all GPUs that would help, not the best few
    prices: _Value | _Path | None = ...,  # CSV with item,price: ram (a GiB), ssd (a TB), cpu, mainboard, or a GPU by name
    price_of: _List | None = ...,  # one price: ITEM=PRICE, may be repeated
    csv: bool | None = ...,  # the table as CSV: changes, strategies, stages, layouts, policies, phases, or what each memory …
) -> Any: ...

def plan(
    model: _Path, on: str | None = ..., output: _Path = ...,
    *,
    timeline: _Value | _Path | None = ...,  # a run file with the plan, its predicted steps and memory, for show, export and …
    gpus: _Value | _Path | None = ...,  # GPUs of this kind; other stacks share the batch over them
    machine: _Value | _Path | None = ...,  # a machine described in a JSON file
    ram: _Value | _Path | None = ...,  # host memory, e.g. 16GiB
    ssd: _Value | _Path | None = ...,  # SSD capacity[:read,write GB/s][xN][@GB/s shared], e.g. 2TB:3.5,1.7; on this computer, …
    ssd_folder: _Value | _Path | None = ...,  # where SSD data goes on this computer: a folder that can be written, on a local …
    pcie: _Value | _Path | None = ...,  # generation x lanes, e.g. 3x16
    cpu_cores: _Value | _Path | None = ...,  # CPU cores
    dram_bandwidth: _Value | _Path | None = ...,  # GB/s that host memory reaches
    device_memory: _Value | _Path | None = ...,  # cap on device memory, e.g. 512MiB
    desktop: bool | None = ...,  # the GPU drives a desktop too
    os: _Value | _Path | None = ...,  # linux, wsl2 or windows: what of the GPU's and the host's memory a program can have
    batch: _Value | _Path | None = ...,  # sequences per micro-batch
    accumulate: _Value | _Path | None = ...,  # micro-batches per optimizer step
    global_batch: _Value | _Path | None = ...,  # sequences per optimizer step
    seq: _Value | _Path | None = ...,  # tokens per sequence (default: the model's positions, at most 1024)
    target_seq: _Value | _Path | None = ...,  # tokens that the decoder of T5 reads (default: as many as --seq)
    classes: _Value | _Path | None = ...,  # put a new head on an encoder, which tells so many classes apart
    precision: _Value | _Path | None = ...,  # fp32, tf32, fp16-mixed, bf16-mixed or bf16 (default: by the GPU's generation)
    loss_scale: _Value | _Path | None = ...,  # of fp16-mixed: dynamic, dynamic:START[:INTERVAL], or a number that stays
    optimizer: _Value | _Path | None = ...,  # sgd, momentum, adam, adamw, adam8bit, adafactor, sm3, lamb, lars, lion, muon …
    clip: _Value | _Path | None = ...,  # bound of the global gradient norm, 0 for none
    lora: _Value | _Path | None = ...,  # RANK[:TARGETS]: freeze the model and train low-rank adapters beside …
    lora_alpha: _Value | _Path | None = ...,  # what adapters add is scaled by alpha / rank (default: twice the rank)
    base_bits: _Value | _Path | None = ...,  # keep the matrices of the frozen model's blocks in 4 (nf4), 8 or 16 (bf16) bits …
    lora_dropout: _Value | _Path | None = ...,  # share of what adapters read that is dropped (only under another --stack)
    dora: bool | None = ...,  # adapters with a magnitude of every output beside them (DoRA; only under another --stack)
    peft: _Value | _Path | None = ...,  # METHOD[:RANK][:TARGETS], another of PEFT's in --lora's place: dora, adalora, vera, …
    train_also: _Value | _Path | None = ...,  # embed, head or embed,head: copies of them are trained beside the adapters …
    lr: _Value | _Path | None = ...,  # peak learning rate (default: the optimizer's; adamw 3e-4)
    schedule: _Value | _Path | None = ...,  # constant, linear or cosine; with --pp the pipeline's order instead
    warmup: _Value | _Path | None = ...,  # steps of linear warm-up
    weight_decay: _Value | _Path | None = ...,  # weight decay of matrices (default: the optimizer's; adamw 0.1)
    betas: _List | None = ...,  # two decay rates of moments (adamw 0.9,0.95)
    eps: _Value | _Path | None = ...,  # what keeps divisors from 0 (adamw 1e-8)
    momentum: _Value | _Path | None = ...,  # of momentum and lars (0.9)
    nesterov: bool | None = ...,  # momentum looks one step ahead
    trust: _Value | _Path | None = ...,  # lars: share of its norm that a matrix moves, times the learning rate (1e-3)
    absolute_step: bool | None = ...,  # adafactor: steps of the learning rate, not relative to the weights
    seed: _Value | _Path | None = ...,  # of weights and batches
    stack: _Value | _Path | None = ...,  # the program that trains: plimsoll, pytorch, deepspeed, colossalai, megatron, llm.c
    modules: _Value | _Path | None = ...,  # whose layers another stack runs: huggingface, nanogpt, mosaic, litgpt, torchtune, …
    compile: bool | None = ...,  # torch.compile; of torchtune modules the loss too
    fp8: _Value | _Path | None = ...,  # linear layers of the blocks multiply in fp8 (Transformer Engine; torchao of torchtune …
    fp8_params: bool | None = ...,  # weights of such layers are in fp8 themselves (megatron: --fp8-param-gather)
    fp8_wide_ends: _Value | _Path | None = ...,  # blocks at either end that stay in bf16 with --fp8 (NeMo's current scaling: 1)
    attention: _Value | _Path | None = ...,  # eager, efficient or flash (default: the fastest that there is)
    recompute: _Value | _Path | None = ...,  # activation checkpointing of another stack: none, selective, full, every:K
    compress_activations: _Value | _Path | None = ...,  # how feature maps of a convolutional net wait for the backward pass …
    relu_zeros: _Value | _Path | None = ...,  # share of what a ReLU makes that is zero, with --compress-activations (default: …
    channels_last: bool | None = ...,  # feature maps of a convolutional net are stored pixel by pixel (torch.channels_last)
    optimizer_loop: _Value | _Path | None = ...,  # foreach, fused or for-loop
    dropout: _Value | _Path | None = ...,  # of a model under another stack (default: its family's)
    kbit_preparation: _Value | _Path | None = ...,  # yes or no: PEFT's prepare_model_for_kbit_training of a base of 4 or 8 …
    double_quant: _Value | _Path | None = ...,  # yes or no: the scales of a 4-bit base are quantized once more …
    lengths: _Value | _Path | None = ...,  # sequences of varying length, the longest of them --seq: 91..2048, or a file with …
    module_loading: _Value | _Path | None = ...,  # when the driver loads kernels (CUDA_MODULE_LOADING): lazy, or eager as …
    rotary_tables: bool | None = ...,  # every layer keeps cosines and sines of all positions (transformers' models of early …
    half_logits: bool | None = ...,  # the loop computes the loss itself, of logits in the type that the products gave them
    zero: _Value | _Path | None = ...,  # ZeRO stage over the GPUs (3: FSDP)
    dp: _Value | _Path | None = ...,  # GPUs that share the batch
    loss_chunks: _Value | _Path | None = ...,  # parts of the batch whose logits meet the loss one after another
    update_in_backward: bool | None = ...,  # every parameter is updated as soon as its gradient is there
    tp: _Value | _Path | None = ...,  # GPUs that share each layer (megatron)
    pp: _Value | _Path | None = ...,  # stages of a pipeline (megatron)
    chunks: _Value | _Path | None = ...,  # chunks of layers that a stage interleaves (megatron)
    cp: _Value | _Path | None = ...,  # GPUs that share a sequence (megatron)
    sequence_parallel: bool | None = ...,  # norms and dropouts on a part of the sequence (megatron), or not (--no-sequence- …
    no_sequence_parallel: bool | None = ...,  # norms and dropouts on a part of the sequence (megatron), or not (--no- …
    no_overlap_comm: bool | None = ...,  # one reduction bucket of deepspeed instead of two; of megatron, nothing is sent …
    reduce_in: _Value | _Path | None = ...,  # type in which gradients are summed and sent (megatron): fp32 as Megatron-LM, …
    nodes: _Value | _Path | None = ...,  # nodes that the GPUs are on (default: 8 GPUs a node)
    network: _Value | _Path | None = ...,  # between nodes: 25GB/s a GPU or 8x200Gb/s a node, with @5us for the latency
    reduce_bucket: _Value | _Path | None = ...,  # elements that deepspeed reduces at once
    deterministic: bool | None = ...,  # cuBLAS with fixed workspaces (CUBLAS_WORKSPACE_CONFIG=:4096:8)
    expandable_segments: bool | None = ...,  # of PyTorch's allocator
    offload: _List | None = ...,  # what waits elsewhere under another stack: optimizer:cpu, params:ssd, activations:cpu
    zenflow: _Value | _Path | None = ...,  # share of gradient columns that the GPU updates in every step (deepspeed; 0.05 to …
    zenflow_every: _Value | _Path | None = ...,  # steps after which ZenFlow updates the others in host memory
    placement: _Value | _Path | None = ...,  # of Gemini's chunks: static, or auto (what a warm-up leaves of the GPU is filled)
    durability: _Value | _Path | None = ...,  # what outlives a kill or a loss of power: none, checkpoint (of every --save- …
    save_every: _Value | _Path | None = ...,  # steps between checkpoints (one is always written at the end)
    steps: _Value | _Path | None = ...,  # optimizer steps (where the linear and cosine schedules end)
    strategy: _Value | _Path | None = ...,  # auto, resident, recompute, offload-optimizer, offload-optimizer-overlapped, …
    save_strategy: _Value | _Path | None = ...,  # write what was found where it can be edited for --strategy FILE
    calibration: _Value | _Path | None = ...,  # measurements that replace the catalogue's: a run file, or CSV or JSON of …
) -> Any: ...

def simulate(
    plan: _Path,
    *,
    calibration: _Value | _Path | None = ...,  # measurements that replace the catalogue's: a run file, or CSV or JSON of …
    skip_probability: _Value | _Path | None = ...,  # of a step whose fp16 gradients overflow, so that nothing is updated
    csv: bool | None = ...,  # what each memory of a plan needs, or the ranks of a layout's pipeline, as CSV
    on: _Value | _Path | None = ...,  # GPU by name, or as many as "8x A100", for a MODEL in place of a plan
    gpus: _Value | _Path | None = ...,  # GPUs of this kind
    dp: _Value | _Path | None = ...,  # GPUs that share the batch (default: what the other degrees leave)
    tp: _Value | _Path | None = ...,  # GPUs that share each layer
    pp: _Value | _Path | None = ...,  # stages of a pipeline
    cp: _Value | _Path | None = ...,  # GPUs that share a sequence
    zero: _Value | _Path | None = ...,  # what data ranks share out: 1 states, 2 and gradients, 3 and parameters
    chunks: _Value | _Path | None = ...,  # chunks of layers a stage
    sequence_parallel: bool | None = ...,  # norms and dropouts on a part of the sequence (megatron), or not (--no-sequence- …
    no_sequence_parallel: bool | None = ...,  # norms and dropouts on a part of the sequence (megatron), or not (--no- …
    no_overlap_comm: bool | None = ...,  # one reduction bucket of deepspeed instead of two; of megatron, nothing is sent …
    reduce_in: _Value | _Path | None = ...,  # type in which gradients are summed and sent (megatron): fp32 as Megatron-LM, …
    recompute: _Value | _Path | None = ...,  # none, selective or full
    attention: _Value | _Path | None = ...,  # eager or flash (default)
    dropout: _Value | _Path | None = ...,  # default: the family's
    nodes: _Value | _Path | None = ...,  # nodes that the GPUs are on (default: 8 GPUs a node)
    network: _Value | _Path | None = ...,  # between nodes: 25GB/s a GPU or 8x200Gb/s a node, with @5us for the latency
    collective_sms: _Value | _Path | None = ...,  # multiprocessors that a collective takes from kernels beside it: NCCL's …
    ep: _Value | _Path | None = ...,  # data ranks that share the experts
    schedule: _Value | _Path | None = ...,  # of a pipeline: 1f1b, interleaved, zb-h1, … (plimsoll schedule --list)
    micro_batch: _Value | _Path | None = ...,  # sequences of a micro-batch
    context: _Value | _Path | None = ...,  # how --cp ranks share a sequence: ring or ulysses
    tensor_layout: _Value | _Path | None = ...,  # how --tp ranks stand: 1d (Megatron-LM), 2d, 2.5d:DEPTH or 3d (Colossal-AI)
    imbalance: _Value | _Path | None = ...,  # tokens of the fullest expert rank, over the mean (default: what chance makes of …
    gating: _Value | _Path | None = ...,  # of experts: one-level, or two-level:GROUPS/CHOSEN: groups first, each on --ep …
    slow_rank: _List | None = ...,  # a straggler: RANK=FACTOR, may be repeated
    exact: bool | None = ...,  # simulate every rank, not one of each kind
    gradients_at_end: bool | None = ...,  # data ranks reduce gradients after the last backward pass, not beside it
    partition_activations: bool | None = ...,  # with --recompute full, each of the --tp GPUs keeps its part of a block's …
    tp_comm_overlap: bool | None = ...,  # products of the --tp GPUs are cut into pieces beside which they send (Transformer …
    batch: _Value | _Path | None = ...,  # sequences per micro-batch
    accumulate: _Value | _Path | None = ...,  # micro-batches per optimizer step
    global_batch: _Value | _Path | None = ...,  # sequences per optimizer step
    seq: _Value | _Path | None = ...,  # tokens per sequence (default: the model's positions, at most 1024)
    target_seq: _Value | _Path | None = ...,  # tokens that the decoder of T5 reads (default: as many as --seq)
    classes: _Value | _Path | None = ...,  # put a new head on an encoder, which tells so many classes apart
    precision: _Value | _Path | None = ...,  # fp32, tf32, fp16-mixed, bf16-mixed or bf16 (default: by the GPU's generation)
    loss_scale: _Value | _Path | None = ...,  # of fp16-mixed: dynamic, dynamic:START[:INTERVAL], or a number that stays
    optimizer: _Value | _Path | None = ...,  # sgd, momentum, adam, adamw, adam8bit, adafactor, sm3, lamb, lars, lion, muon …
    clip: _Value | _Path | None = ...,  # bound of the global gradient norm, 0 for none
    lora: _Value | _Path | None = ...,  # RANK[:TARGETS]: freeze the model and train low-rank adapters beside …
    lora_alpha: _Value | _Path | None = ...,  # what adapters add is scaled by alpha / rank (default: twice the rank)
    base_bits: _Value | _Path | None = ...,  # keep the matrices of the frozen model's blocks in 4 (nf4), 8 or 16 (bf16) bits …
    lora_dropout: _Value | _Path | None = ...,  # share of what adapters read that is dropped (only under another --stack)
    dora: bool | None = ...,  # adapters with a magnitude of every output beside them (DoRA; only under another --stack)
    peft: _Value | _Path | None = ...,  # METHOD[:RANK][:TARGETS], another of PEFT's in --lora's place: dora, adalora, vera, …
    train_also: _Value | _Path | None = ...,  # embed, head or embed,head: copies of them are trained beside the adapters …
) -> Any: ...

def replay(
    trace: _Path,
    *,
    scale: _List | None = ...,  # PART=PATTERN:FACTOR, any number of them: what if these took FACTOR times as long; PART is …
    no_host_gaps: bool | None = ...,  # what if the host went from CUDA call to CUDA call without a pause
    gpu: _Value | _Path | None = ...,  # what if it ran on that GPU of the catalogue (by nominal rates)
    recorded_gpu: _Value | _Path | None = ...,  # with --gpu: the GPU of the recording, where the trace does not tell
    bandwidth: _Value | _Path | None = ...,  # what if copies between host and device reached so many GB/s each way
    memory: bool | None = ...,  # replay the framework's allocations through a model of PyTorch's caching allocator, and …
    expandable_segments: bool | None = ...,  # with --memory: as if PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
) -> Any: ...

def compare(
    run: _Path, other: _Path | None = ...,
    *,
    threshold: _Value | _Path | None = ...,  # end with exit code 3 when the step's error passes this many percent
) -> Any: ...
