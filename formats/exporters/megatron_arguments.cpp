#include "formats/exporters/megatron_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/model/foreign_feature.h"
#include "formats/exporters/commented_text.h"
#include "formats/exporters/refusals.h"

namespace plimsoll {
namespace {

/// "  --name value" lines.
class Arguments {
 public:
  void add(std::string_view name) { lines_ += fmt::format("  --{}\n", name); }
  template <typename Value>
  void add(std::string_view name, const Value& value) {
    lines_ += fmt::format("  --{} {}\n", name, value);
  }
  void add_if(bool applies, std::string_view name) {
    if (applies) add(name);
  }
  [[nodiscard]] const std::string& str() const { return lines_; }

 private:
  std::string lines_;
};

Result<void> check_layers(const ModelSpec& spec) {
  if (spec.head != HeadKind::kNextToken || !spec.causal || spec.has_encoder_and_decoder()) {
    return cannot_export("these arguments are of pretrain_gpt.py, which trains decoders", "export a decoder");
  }
  if (spec.positions == PositionKind::kAlibi || spec.parallel_block || spec.post_norm || spec.embedding_norm ||
      spec.token_width() != spec.hidden || spec.norms_behind() || spec.wide_qk_norm || !foreign_feature(spec).empty()) {
    return cannot_export(fmt::format("Megatron-LM's layers are not those of {}", spec.name),
                         "export to deepspeed, which takes any model");
  }
  if (spec.activation == ActivationKind::kGeGluTanh || spec.activation == ActivationKind::kRelu || spec.norm == NormKind::kRmsNormPlusOne ||
      spec.experts.count > 0 || spec.window > 0) {
    return cannot_export(
        fmt::format("{} needs what these arguments do not say (its activation, norm, window or experts)", spec.name),
        "export to deepspeed, which takes any model");
  }
  return {};
}

Result<void> check_megatron(const ExportedTraining& training) {
  const TargetReach reach{
      .who = "megatron", .parameters = Tier::kDevice, .optimizer = Tier::kHost, .activations = Tier::kHost};
  if (const auto goes = check_reach(training, reach); !goes) return goes;
  const Recipe& recipe = training.recipe;
  const bool known = recipe.optimizer == OptimizerKind::kAdam || recipe.optimizer == OptimizerKind::kAdamW ||
                     recipe.optimizer == OptimizerKind::kSgd || recipe.optimizer == OptimizerKind::kMomentum;
  if (!known)
    return cannot_export(fmt::format("megatron has no {} as these arguments name it", to_text(recipe.optimizer)),
                         "take --optimizer adamw or sgd");
  if (training.optimizer != Tier::kDevice && recipe.optimizer != OptimizerKind::kAdam &&
      recipe.optimizer != OptimizerKind::kAdamW) {
    return cannot_export("megatron keeps the states of adam alone in host memory (--use-precision-aware-optimizer)",
                         "take --optimizer adamw, or a --strategy with the optimizer on the device");
  }
  if (recipe.precision == Precision::kBf16) {
    return cannot_export("megatron keeps fp32 states beside bf16 weights", "take --precision bf16-mixed");
  }
  if (recipe.adapter.exists()) return cannot_export("megatron's arguments have no adapters", "leave --lora out");
  if (training.activations != Tier::kDevice && training.checkpoints != ExportedCheckpoints::kNone) {
    return cannot_export("megatron moves activations or computes them again, not both",
                         "choose a --strategy without recomputation, or without offloading");
  }
  if (training.activations != Tier::kDevice && training.stages > 1) {
    return cannot_export("megatron moves no activations of a pipeline", "leave --pp out");
  }
  return check_layers(training.spec);
}

/// Whether Megatron-LM's --use-rope-scaling stretches rotary frequencies so: Llama 3.1's bounds, by any factor.
bool has_its_scaling(const RopeScaling& scaling) {
  const RopeScaling known{.kind = RopeScalingKind::kLlama3, .factor = scaling.factor};
  return scaling == known;
}

void add_model(const ModelSpec& spec, Arguments& out) {
  out.add("num-layers", spec.layers);
  out.add("hidden-size", spec.hidden);
  out.add("ffn-hidden-size", spec.ffn);
  out.add("num-attention-heads", spec.heads);
  out.add("kv-channels", spec.head_dim);
  out.add_if(spec.kv_heads != spec.heads, "group-query-attention");
  if (spec.kv_heads != spec.heads) out.add("num-query-groups", spec.kv_heads);
  out.add("max-position-embeddings", spec.max_positions);
  out.add("position-embedding-type", spec.positions == PositionKind::kRope ? "rope" : "learned_absolute");
  if (spec.positions == PositionKind::kRope) {
    out.add("rotary-base", static_cast<std::int64_t>(spec.rope_theta));
    out.add("rotary-percent", static_cast<double>(spec.rotary_width()) / static_cast<double>(spec.head_dim));
    out.add_if(has_its_scaling(spec.rope_scaling), "use-rope-scaling");
    if (has_its_scaling(spec.rope_scaling)) out.add("rope-scaling-factor", spec.rope_scaling.factor);
  }
  out.add("normalization", spec.norm == NormKind::kLayerNorm ? "LayerNorm" : "RMSNorm");
  out.add("norm-epsilon", spec.norm_epsilon);
  out.add_if(spec.activation == ActivationKind::kSwiGlu, "swiglu");
  out.add_if(spec.activation == ActivationKind::kSquaredRelu, "squared-relu");
  out.add_if(!spec.mlp_bias, "disable-bias-linear");
  out.add_if(spec.qkv_bias && !spec.mlp_bias, "add-qkv-bias");
  out.add_if(spec.qk_norm, "qk-layernorm");
  out.add_if(!spec.tied_head, "untie-embeddings-and-output-weights");
  out.add("tokenizer-type", "NullTokenizer");
  out.add("vocab-size", spec.vocabulary);
  out.add("make-vocab-size-divisible-by", 1);
}

void add_recipe(const ExportedTraining& training, Arguments& out) {
  const Recipe& recipe = training.recipe;
  out.add("seq-length", recipe.sequence);
  out.add("micro-batch-size", recipe.micro_batch);
  out.add("global-batch-size", training.global_batch());
  if (recipe.total_steps > 0) out.add("train-iters", recipe.total_steps);
  const bool adam = recipe.optimizer == OptimizerKind::kAdam || recipe.optimizer == OptimizerKind::kAdamW;
  out.add("optimizer", adam ? "adam" : "sgd");
  out.add("lr", recipe.learning_rate);
  out.add("min-lr", recipe.schedule == LrSchedule::kConstant ? recipe.learning_rate : recipe.learning_rate / 10);
  out.add("lr-decay-style", to_text(recipe.schedule));
  out.add("lr-warmup-iters", recipe.warmup_steps);
  out.add("weight-decay", recipe.weight_decay);
  if (adam) {
    out.add("adam-beta1", recipe.beta1);
    out.add("adam-beta2", recipe.beta2);
    out.add("adam-eps", recipe.epsilon);
  } else {
    out.add("sgd-momentum", recipe.optimizer == OptimizerKind::kMomentum ? recipe.momentum : 0.0);
  }
  out.add("clip-grad", recipe.clip);
  out.add("seed", recipe.seed);
  out.add("attention-dropout", 0.0);
  out.add("hidden-dropout", 0.0);
}

void add_precision(const Recipe& recipe, Arguments& out) {
  out.add_if(recipe.precision == Precision::kBf16Mixed, "bf16");
  if (recipe.precision != Precision::kFp16Mixed) return;
  out.add("fp16");
  if (recipe.loss_scaling.interval == 0) return out.add("loss-scale", recipe.loss_scaling.start);
  out.add("initial-loss-scale", recipe.loss_scaling.start);
  out.add("loss-scale-window", recipe.loss_scaling.interval);
  out.add("hysteresis", 1);
  out.add("min-loss-scale", 1.0);
}

void add_ranks(const ExportedTraining& training, Arguments& out) {
  out.add("tensor-model-parallel-size", training.tensor_ranks);
  out.add("pipeline-model-parallel-size", training.stages);
  out.add("context-parallel-size", training.context_ranks);
  if (training.chunks > 1)
    out.add("num-layers-per-virtual-pipeline-stage", training.spec.layers / (training.stages * training.chunks));
  out.add_if(training.sequence_parallel, "sequence-parallel");
  out.add_if(training.zero >= 1 || training.optimizer != Tier::kDevice, "use-distributed-optimizer");
  out.add_if(training.overlaps && training.data_ranks > 1, "overlap-grad-reduce");
  if (training.zero < 2) return;
  out.add("use-megatron-fsdp");
  out.add("ckpt-format", "fsdp_dtensor");  // the only one that its FSDP takes
  out.add("data-parallel-sharding-strategy", training.zero == 3 ? "optim_grads_params" : "optim_grads");
}

/// Parts of a block of which the plan computes all outputs again, by Megatron's names.
std::string recomputed_modules(const ExportedTraining& training) {
  std::set<std::string> parts;
  for (const auto& block : training.blocks) {
    bool feed_forward = false, all = true;
    for (const PlannedOperator& made : block) {
      const bool again = made.again.count > 0;
      if (made.kind == OpKind::kAttention && again) parts.insert("core_attn");
      if (made.kind == OpKind::kNorm && again) parts.insert("layernorm");
      const bool inner = made.output.starts_with("ffn in") || made.output.starts_with("ffn activation");
      feed_forward = feed_forward || inner;
      all = all && (!inner || again);
    }
    if (feed_forward && all) parts.insert("mlp");
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

void add_memory(const ExportedTraining& training, Arguments& out) {
  const ExportedCheckpoints rule = training.checkpoints;
  if (rule == ExportedCheckpoints::kBlocks) {
    out.add("recompute-granularity", "full");
    out.add("recompute-method", "uniform");
    out.add("recompute-num-layers", training.every);
  } else if (rule != ExportedCheckpoints::kNone) {
    const std::string modules = training.blocks.empty() ? "core_attn" : recomputed_modules(training);
    out.add("recompute-granularity", "selective");
    if (!modules.empty()) out.add("recompute-modules", modules);
  }
  if (training.optimizer != Tier::kDevice) {
    out.add("optimizer-cpu-offload");
    out.add("optimizer-offload-fraction", training.updates_away);
    out.add("use-precision-aware-optimizer");
    out.add_if(training.overlaps, "overlap-cpu-optimizer-d2h-h2d");
  }
  if (training.activations == Tier::kHost) {
    out.add("cpu-offloading-num-layers",
            static_cast<std::int64_t>(training.activations_away * static_cast<double>(training.spec.layers) + 0.5));
  }
}

void note_megatron(const ExportedTraining& training, std::vector<std::string>& notes) {
  const auto note = [&](bool applies, std::string text) {
    if (applies) notes.push_back(std::move(text));
  };
  const Recipe& recipe = training.recipe;
  notes.push_back(
      "add the data (--data-path, --split, a tokenizer of your own in place of NullTokenizer), --save and "
      "--train-iters where they lack");
  note(training.checkpoints == ExportedCheckpoints::kOperators,
       "recompute-modules names whole parts of a layer; parts of which the plan keeps some outputs are kept, the rest "
       "is Megatron's to decide");
  note(training.optimizer != Tier::kDevice && training.of_plan(),
       "the CPU updates after the backward pass; optimizer-offload-fraction chooses parameters by size, the plan chose "
       "whole blocks");
  note(recipe.optimizer == OptimizerKind::kAdam,
       "Megatron's adam decays weights apart from the gradient, as AdamW does");
  note(recipe.precision == Precision::kFp32 || recipe.precision == Precision::kTf32,
       "without --bf16 or --fp16 Megatron trains in fp32");
  note(recipe.precision == Precision::kTf32, "tf32 is NVIDIA_TF32_OVERRIDE=1 in the environment");
  note(training.spec.projection_bias != training.spec.mlp_bias,
       "Megatron has biases in all linear layers, in queries, keys and values, or in none");
  note(training.spec.rope_scaling.kind != RopeScalingKind::kNone && !has_its_scaling(training.spec.rope_scaling),
       "the model's rotary frequencies are stretched otherwise than --use-rope-scaling does it (Llama 3.1's bounds), which is left out");
  note(training.of_plan(), "attention-dropout and hidden-dropout are 0, as in plimsoll");
}

/// What Megatron-LM asks of the environment: one queue of launches where it hides transfers of tensor and context ranks
/// behind products (on GPUs before Blackwell), more than one for its FSDP (megatron/training/arguments.py, validate_args).
std::string connections(const ExportedTraining& training) {
  if (training.zero >= 2) return "unset CUDA_DEVICE_MAX_CONNECTIONS\n";
  const bool one = training.tensor_ranks > 1 || training.context_ranks > 1;
  return one ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" : "";
}

/// How it is started: a multiple of eight GPUs on nodes of eight, each of which says which it is; any other number on one node.
std::string launch(std::int64_t gpus) {
  constexpr std::int64_t kNode = 8;
  if (gpus <= kNode || gpus % kNode != 0) return fmt::format("torchrun --nproc-per-node {}", gpus);
  return fmt::format("torchrun --nnodes {} --nproc-per-node {} --node-rank $NODE_RANK --master-addr $MASTER_ADDR", gpus / kNode, kNode);
}

}  // namespace

Result<ExportedText> megatron_arguments(const ExportedTraining& training) {
  if (const auto goes = check_megatron(training); !goes) return fail(goes.error());
  Arguments arguments;
  add_model(training.spec, arguments);
  add_recipe(training, arguments);
  add_precision(training.recipe, arguments);
  add_ranks(training, arguments);
  add_memory(training, arguments);
  ExportedText out;
  note_megatron(training, out.notes);
  note_timing(training, "megatron", out.notes);
  out.text =
      heading(training, "megatron", out.notes) +
      fmt::format("# {} pretrain_gpt.py \"${{MEGATRON_ARGS[@]}}\"\n{}MEGATRON_ARGS=(\n{})\n",
                  launch(training.gpus()), connections(training), arguments.str());
  return out;
}

}  // namespace plimsoll
