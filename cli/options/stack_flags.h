#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/optimizer_form_flags.h"
#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// The options that say which program trains, and how, as typed.
struct StackFlags {
  std::string stack = "plimsoll";
  std::string modules;      ///< empty: what the stack and the model's family are written in
  bool compile = false;
  std::string fp8 = "none";  ///< scaling of products in 8 bits
  bool fp8_params = false;
  std::int64_t fp8_wide_ends = 0;
  std::string attention;    ///< empty: the fastest there is
  std::string recompute = "none";
  std::string compress = "none";  ///< feature maps of convolutional nets
  bool channels_last = false;
  std::optional<double> relu_zeros;
  std::string optimizer_loop = "foreach";
  OptimizerFormFlags optimizer_form;
  std::optional<double> dropout;
  std::string kbit_preparation;  ///< "yes" or "no"; empty: as PEFT's users have it
  std::string double_quant = "yes";  ///< of a 4-bit base
  bool older_bitsandbytes = false;
  bool narrow_adapters = false;
  bool older_sdpa = false;
  bool packing = false;        ///< what --lengths says is packed without padding
  std::string lengths;         ///< "91..2048" or a file; empty: all sequences are as long as --seq says
  std::string module_loading = "lazy";
  bool rotary_tables = false;
  bool half_logits = false;
  bool liger = false;
  bool fused_head = false;
  std::string preferences = "sft";  ///< what --workload says where another program trains: dpo, kto, grpo
  std::string reference;  ///< empty: as TRL has it
  std::int64_t prompt = 0;
  std::string rollout = "transformers";
  bool tiled_mlp = false;
  std::string autocast;  ///< "yes" or "no"; empty: as the modules' loops
  std::string whole_gradients;  ///< "yes" or "no"; empty: as the modules' loops
  std::string grouped_experts;  ///< "yes" or "no"; empty: as the modules have it
  bool written_gelu = false;
  std::string logits;  ///< "held" or "freed"; empty: as the modules' own examples have it
  int zero = 0;
  std::int64_t gpus = 1;
  std::int64_t loss_chunks = 1;
  bool update_in_backward = false;
  std::int64_t tensor_ranks = 1;
  std::int64_t stages = 1;
  std::int64_t chunks = 1;
  std::int64_t context_ranks = 1;
  std::int64_t expert_ranks = 1;
  std::optional<std::int64_t> expert_tensor_ranks;
  std::string expert_dispatch = "alltoall";  ///< of Megatron's tokens
  bool sequence_parallel = false;
  std::string reduce_in = "fp32";  ///< of Megatron's gradient buffers
  std::optional<std::int64_t> nodes;
  std::string network;
  std::string peers;
  std::string reduce_bucket = "500000000";  ///< or "auto"
  bool no_overlap = false;
  bool deterministic = false;
  bool expandable_segments = false;
  std::vector<std::string> offload;  ///< "optimizer:cpu", "params:ssd", …
  double zenflow = 0;
  std::int64_t zenflow_every = 4;
  std::string placement = "static";  ///< of Gemini's chunks

  const CLI::Option* chosen = nullptr;      ///< --stack
  std::vector<const CLI::Option*> options;  ///< all of the above but the first

  /// Whether the user said himself who trains.
  [[nodiscard]] bool typed() const { return chosen != nullptr && chosen->count() > 0; }

  /// Whether another program than ours trains.
  [[nodiscard]] bool other() const { return stack != "plimsoll"; }
};

void add_stack_flags(CLI::App& command, StackFlags& flags);
/// --workload and --prompt of commands that know no other workloads.
void add_preference_flags(CLI::App& command, StackFlags& flags);
/// --sequence-parallel, which may be denied, and --reduce-in; layouts of several GPUs have both too.
void add_megatron_flags(CLI::App& command, StackFlags& flags, const std::string& group);
/// --ep, which layouts of several GPUs have as well.
void add_expert_ranks(CLI::App& command, StackFlags& flags, const std::string& group);
/// --nodes, --network and --peers, which other stacks and layouts of several GPUs have alike; add_stack_flags adds them too.
void add_node_flags(CLI::App& command, StackFlags& flags, const std::string& group);

/// Refuses, by name, options of other programs where ours trains: they would be ignored.
Result<void> check_stack_options(const StackFlags& flags);

/// Refuses gradients summed in bf16 beside weights that are not.
Result<void> check_reduction(const StackFlags& flags, Precision precision);

/// --autocast is of what lies in two bytes: all of it, or what FSDP gathers.
Result<void> check_autocast(const StackFlags& flags, Precision precision);

/// The setup that the flags mean for a model; an option that does not go with the stack is named.
Result<StackSetup> read_stack_setup(const StackFlags& flags, const ModelSpec& spec);

}  // namespace plimsoll
