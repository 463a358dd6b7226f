#include <catch2/catch.hpp>

#include "formats/trainers/training_file.h"

namespace plimsoll {
namespace {

TrainingFile read(const std::string& text) {
  auto file = read_training_file(text, "train.yaml");
  REQUIRE(file);
  settle(*file);
  return *file;
}

Error refusal(const std::string& text) {
  const auto file = read_training_file(text, "train.yaml");
  REQUIRE_FALSE(file);
  return file.error();
}

using Options = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("LLaMA-Factory's file of a QLoRA training, with what it says nothing of as the program has it") {
  const TrainingFile file = read(R"(
### model
model_name_or_path: meta-llama/Llama-3.1-8B
quantization_bit: 4
stage: sft
finetuning_type: lora
lora_target: q_proj,v_proj
cutoff_len: 4096
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
bf16: true
optim: paged_adamw_8bit
flash_attn: fa2
logging_steps: 10
)");
  CHECK(file.program == "LLaMA-Factory");
  CHECK(file.model == "meta-llama/Llama-3.1-8B");
  CHECK(file.options == Options{{"--stack", "pytorch"}, {"--modules", "huggingface"}, {"--base-bits", "4"}, {"--lora", "8:q_proj,v_proj"},
                                {"--seq", "4096"}, {"--batch", "2"}, {"--accumulate", "8"}, {"--optimizer", "adam8bit"}, {"--paged-states", ""},
                                {"--attention", "flash"}, {"--recompute", "full"}, {"--precision", "bf16-mixed"}});
  CHECK(file.unread.empty());
  REQUIRE(file.notes.size() == 1);
  CHECK(file.notes[0].find("cutoff_len") != std::string::npos);
}

TEST_CASE("modules that are trained beside adapters are told, however the trainer calls them") {
  const std::string axolotl = "base_model: meta-llama/Llama-3.1-8B\nadapter: lora\nlora_r: 8\nlora_modules_to_save:\n  - embed_tokens\n  - lm_head\n";
  CHECK(read(axolotl).options.at("--train-also") == "embed_tokens,lm_head");
  const std::string factory = "model_name_or_path: gpt2\nstage: sft\nfinetuning_type: lora\nadditional_target: embed_tokens,lm_head\n";
  CHECK(read(factory).options.at("--train-also") == "embed_tokens,lm_head");
  CHECK(read("model_name_or_path: gpt2\nper_device_train_batch_size: 1\nuse_peft: true\nlora_modules_to_save: [lm_head]\n").options.at("--train-also") == "lm_head");
}

TEST_CASE("what axolotl would find while it trains, or contradicts itself, is refused by its key") {
  CHECK(refusal("base_model: gpt2\nmicro_batch_size: auto\n").where.find("micro_batch_size") != std::string::npos);
  CHECK(refusal("base_model: gpt2\nadapter: lora\nload_in_8bit: true\nload_in_4bit: true\n").what.find("8 or in 4 bits") != std::string::npos);
  CHECK(refusal("base_model: gpt2\nunfrozen_parameters: [lm_head.weight]\n").where.find("unfrozen_parameters") != std::string::npos);
}

TEST_CASE("LLaMA-Factory trains whole models in fp32 beside mixed products, in two bytes where all is, and adapters beside two bytes") {
  const std::string model = "model_name_or_path: gpt2\nstage: sft\n";
  CHECK(read(model + "finetuning_type: full\nbf16: true\n").options.at("--precision") == "bf16-mixed");
  CHECK(read(model + "finetuning_type: full\npure_bf16: true\n").options.at("--precision") == "bf16");
  const TrainingFile adapters = read(model + "finetuning_type: lora\nbf16: true\n");
  CHECK(adapters.options.at("--precision") == "bf16");
  CHECK(adapters.options.at("--autocast") == "yes");
  CHECK(read(model + "finetuning_type: full\n").options.count("--precision") == 0);
  CHECK(read(model + "use_galore: true\ngalore_rank: 64\ngalore_layerwise: true\nfinetuning_type: full\n").options.at("--projection") == "galore:64");
}

TEST_CASE("axolotl's file: bf16 where the GPU has it, FSDP with parameters in host memory, packed sequences") {
  const TrainingFile file = read(R"(
base_model: NousResearch/Meta-Llama-3-70B
load_in_4bit: true
load_in_8bit: false
adapter: qlora
lora_r: 16
lora_alpha: 32
lora_dropout: 0.05
lora_target_modules:
lora_target_linear: true
sequence_len: 8192
sample_packing: true
micro_batch_size: 1
gradient_accumulation_steps: 4
optimizer: adamw_torch_fused
bf16: auto
fp16:
gradient_checkpointing: offload
flash_attention: true
fsdp:
  - full_shard
  - auto_wrap
fsdp_config:
  fsdp_offload_params: true
  fsdp_sharding_strategy: FULL_SHARD
liger_rms_norm: true
liger_rope: true
wandb_project:
)");
  CHECK(file.program == "axolotl");
  CHECK(file.options == Options{{"--stack", "pytorch"}, {"--modules", "huggingface"}, {"--base-bits", "4"}, {"--lora", "16"}, {"--lora-alpha", "32"},
                                {"--lora-dropout", "0.05"}, {"--seq", "8192"}, {"--batch", "1"}, {"--accumulate", "4"}, {"--optimizer", "adamw"},
                                {"--optimizer-loop", "fused"}, {"--recompute", "full"}, {"--attention", "flash"}, {"--zero", "3"}, {"--liger", ""},
                                {"--offload", "activations:cpu,params:cpu,optimizer:cpu"}, {"--precision", "bf16-mixed"}});
  CHECK(file.unread.empty());
  REQUIRE(file.notes.size() == 1);
  CHECK(file.notes[0].find("packed sequences are full") == 0);
}

TEST_CASE("torchtune's file: the model by its component, chunks of the loss, adapters beside feed-forward layers") {
  const TrainingFile file = read(R"(
model:
  _component_: torchtune.models.qwen2_5.lora_qwen2_5_0_5b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  lora_rank: 64
  lora_alpha: 128
tokenizer:
  max_seq_len: 2048
dataset:
  packed: True
optimizer:
  _component_: torch.optim.AdamW
  fused: True
  lr: 2e-5
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
batch_size: 4
gradient_accumulation_steps: 8
clip_grad_norm: null
enable_activation_checkpointing: False
enable_activation_offloading: True
fsdp_cpu_offload: False
dtype: bf16
)");
  CHECK(file.model == "qwen2.5-0.5b");
  CHECK(file.options == Options{{"--stack", "pytorch"}, {"--modules", "torchtune"}, {"--lora", "64:q_proj,v_proj,o_proj,gate,up,down"},
                                {"--lora-alpha", "128"}, {"--seq", "2048"}, {"--batch", "4"}, {"--accumulate", "8"}, {"--clip", "0"},
                                {"--optimizer", "adamw"}, {"--optimizer-loop", "fused"}, {"--loss-chunks", "8"}, {"--offload", "activations:cpu"},
                                {"--zero", "3"}, {"--precision", "bf16"}});
  CHECK(file.unread.empty());
}

TEST_CASE("TRL's files: SFT, DPO by its beta, GRPO by its generations") {
  const std::string model = "model_name_or_path: Qwen/Qwen2.5-7B\ndtype: bfloat16\nbf16: true\nper_device_train_batch_size: 4\n";
  const TrainingFile sft = read(model + "max_length: 2048\npacking: true\nuse_peft: true\ngradient_checkpointing: false\n");
  CHECK(sft.options == Options{{"--stack", "pytorch"}, {"--modules", "huggingface"}, {"--lora", "16:q,v"}, {"--seq", "2048"}, {"--batch", "4"},
                               {"--precision", "bf16"}, {"--autocast", "yes"}});
  const TrainingFile dpo = read(model + "beta: 0.1\nmax_prompt_length: 512\nprecompute_ref_log_probs: true\n");
  CHECK(dpo.options.at("--workload") == "dpo");
  CHECK(dpo.options.at("--reference") == "precomputed");
  CHECK(dpo.options.at("--seq") == "1024");
  const TrainingFile grpo = read(model + "num_generations: 8\nmax_completion_length: 1024\nuse_vllm: true\nvllm_mode: colocate\nvllm_gpu_memory_utilization: 0.4\n");
  CHECK(grpo.options.at("--workload") == "grpo");
  CHECK(grpo.options.at("--seq") == "1536");  // 512 of a prompt, TRL's own, and 1024 written
  CHECK(grpo.options.at("--rollout") == "vllm:0.4");
  CHECK(grpo.options.count("--reference") == 0);  // TRL's beta is 0 unless it is said
  CHECK(read(model + "num_generations: 8\nbeta: 0.04\n").options.at("--reference") == "copy");
  CHECK(read(model + "num_generations: 8\nbeta: 0.04\nuse_peft: true\n").options.at("--reference") == "adapters-off");
  CHECK(read(model + "beta: 0.1\n").options.at("--workload") == "dpo");
}

TEST_CASE("a launch file of accelerate and a trainer's own are one training") {
  const TrainingFile launch = read(R"(
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 3
  offload_optimizer_device: cpu
  offload_param_device: nvme
  gradient_accumulation_steps: 4
mixed_precision: bf16
num_machines: 2
num_processes: 16
downcast_bf16: 'no'
)");
  CHECK(launch.model.empty());
  CHECK(launch.options == Options{{"--stack", "deepspeed"}, {"--zero", "3"}, {"--accumulate", "4"}, {"--offload", "optimizer:cpu,params:ssd"},
                                  {"--gpus", "16"}, {"--nodes", "2"}, {"--precision", "bf16-mixed"}});
  const auto sharded = read_training_file("distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 4\nfsdp_config:\n  fsdp_reshard_after_forward: false\n", "acc.yaml");
  const auto own = read_training_file("model_name_or_path: gpt2\nmax_length: 512\nper_device_train_batch_size: 2\ntorch_dtype: bfloat16\n", "train.yaml");
  REQUIRE((sharded && own));
  TrainingFile both = joined(*sharded, *own);
  settle(both);
  CHECK(both.model == "gpt2");
  CHECK(both.options.at("--zero") == "2");
  CHECK(both.options.at("--batch") == "2");
  const TrainingFile under_deepspeed = joined(launch, *own);
  CHECK(under_deepspeed.options.at("--stack") == "deepspeed");  // the trainer's file names no launcher
  CHECK(under_deepspeed.options.at("--offload") == "optimizer:cpu,params:ssd");
  CHECK(read("distributed_type: 'NO'\ndynamo_config:\n  dynamo_backend: INDUCTOR\n").options.count("--compile") == 1);
  const TrainingFile paged = read("base_model: gpt2\noptimizer: paged_adamw_8bit\nfsdp_config:\n  fsdp_version: 2\n");
  CHECK(paged.options.at("--zero") == "3");
  CHECK(paged.options.at("--optimizer") == "adam8bit");
  CHECK(paged.options.count("--paged-states") == 0);
  CHECK(both.options.at("--precision") == "bf16-mixed");  // what is shared out is kept in fp32 (accelerate)
}

TEST_CASE("keys that nothing reads are told, those of logging and data are not") {
  const TrainingFile file = read("model_name_or_path: gpt2\nmax_length: 512\nper_device_train_batch_size: 2\nlogging_steps: 1\nsome_new_kernel: true\n"
                                 "report_to: wandb\noptim: adamw_of_tomorrow\nanother: {a: 1}\nturned_off: false\nempty:\n");
  CHECK(file.unread == std::vector<std::string>{"optim adamw_of_tomorrow", "another", "some_new_kernel true"});
  // Kernels and shapes that count stand beside keys that do not.
  CHECK(read("base_model: gpt2\nmicro_batchsize: 4\nsequence_length: 512\n").unread ==
        std::vector<std::string>{"micro_batchsize 4 (did you mean micro_batch_size?)", "sequence_length 512"});
  CHECK(read("base_model: gpt2\nadapter: lora\nlora_r: 8\nlora_model_dir: x\nlora_mlp_kernel: true\ns2_attention: true\n").unread ==
        std::vector<std::string>{"lora_mlp_kernel true", "s2_attention true"});
}

TEST_CASE("what is no training file, or says what cannot be told, is refused by its key") {
  CHECK(refusal("foo: 1\n").remedy.find("axolotl") != std::string::npos);
  CHECK(refusal("- 1\n- 2\n").where == "train.yaml");
  CHECK(refusal("").where == "train.yaml");
  CHECK(refusal("a: [1\nb: 2\n").where.find("line") != std::string::npos);
  const Error reward = refusal("model_name_or_path: gpt2\nstage: rm\n");
  CHECK(reward.where == "train.yaml at /stage");
  CHECK(reward.remedy == "told are pt, sft, dpo and kto");
  CHECK(refusal("model_name_or_path: gpt2\nstage: sft\nlora_rank: x\n").where == "train.yaml at /lora_rank");
  CHECK(refusal("base_model: gpt2\nmicro_batch_size: -1\n").where == "train.yaml at /micro_batch_size");
  CHECK(refusal("base_model: gpt2\nadapter: llama-adapter\n").where == "train.yaml at /adapter");
  CHECK(refusal("model_name_or_path: gpt2\nstage: sft\nuse_badam: true\n").where == "train.yaml at /use_badam");
  CHECK(refusal("base_model: gpt2\nreward_model: true\n").where == "train.yaml at /reward_model");
  CHECK(refusal("model: {_component_: torchtune.models.llama3.llama3_8b}\nloss: {_component_: torchtune.rlhf.loss.DPOLoss}\n").where == "train.yaml at /loss");
  CHECK(refusal("distributed_type: MEGATRON_LM\n").where == "train.yaml at /distributed_type");
  CHECK(refusal("base_model: [a, b]\n").where == "train.yaml at /base_model");
}

}  // namespace plimsoll
