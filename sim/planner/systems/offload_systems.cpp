#include "sim/planner/systems/offload_system.h"

// One entry a system, with its published defaults. What is common to all our plans, and so stands in no entry: the unit of
// movement is a block (not a bucket, a chunk or a sub-group), memory is decided before the first step, and the global norm is
// known before an update is kept (docs/strategies.md).
namespace plimsoll {
namespace {

using enum Tier;
constexpr auto kLargest = OpenChoice::Rule::kLargest;
constexpr auto kFastest = OpenChoice::Rule::kFastest;

std::vector<OffloadSystem> checkpointing() {
  return {
      {.name = "chen-sqrt",
       .paper = "Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost, arXiv 1604.06174",
       .choices = "of n blocks the inputs of every √n-th are kept, the rest is computed again a segment at a time",
       .differs = "",
       .strategy = {.recompute_every = 1},
       .segments = Segments::kSquareRoot},
      {.name = "selective-recompute",
       .paper = "Korthikanti et al. 2023, Reducing Activation Recomputation in Large Transformer Models, MLSys",
       .choices = "outputs of matrix products are kept, what is large and cheap to make is computed again",
       .differs = "attention is fused, so that its scores are never kept and its output costs a product's arithmetic: norms and "
                  "activation functions remain to be computed again",
       .strategy = {.recompute_every = 1},
       .kept = KeptOutputs::kProducts},
  };
}

std::vector<OffloadSystem> activation_systems() {
  return {
      {.name = "vdnn",
       .paper = "Rhu et al. 2016, vDNN, MICRO",
       .choices = "what layers keep for backward leaves for pinned host memory behind their forward pass and comes back one layer "
                  "ahead (policy vDNN-all); weights and updates stay on the GPU",
       .differs = "nothing waits at a layer's end for the copy to finish",
       .strategy = {.activations = kHost}},
      {.name = "geeps",
       .paper = "Cui et al. 2016, GeePS, EuroSys",
       .choices = "weights live with a parameter server in host memory, of which as much as fits is kept on the GPU; activations "
                  "leave too; copies run behind the computation",
       .differs = "the server's update runs on the CPU, as its states are there; one worker, hence no staleness",
       .strategy = {.parameters = kHost, .optimizer = kHost, .gradients = kHost, .activations = kHost},
       .open = {{&Strategy::device_parameter_blocks, kLargest}}},
  };
}

/// Gradients and states wait in host memory.
std::vector<OffloadSystem> zero_systems() {
  const Strategy offload{.recompute_every = 1, .optimizer = kHost, .gradients = kHost};
  return {
      {.name = "zero-offload",
       .paper = "Ren et al. 2021, ZeRO-Offload, USENIX ATC",
       .choices = "fp16 weights on the GPU; gradients leave during backward; after the norm is known the CPU updates, and a finished "
                  "piece's weights return while the next is updated; every block recomputed",
       .differs = "",
       .strategy = offload},
      {.name = "zero-offload-delayed",
       .paper = "Ren et al. 2021, ZeRO-Offload, section 5.2 (one-step delayed parameter update)",
       .choices = "as zero-offload, but the CPU updates with the gradients of the step before while the GPU computes",
       .differs = "delayed from the second step on, not after 40 steps of warm-up",
       .strategy = offload,
       .delay = 1},
      {.name = "twin-flow",
       .paper = "DeepSpeed 2023, ZeRO-Offload++ (Twin-Flow)",
       .choices = "as zero-offload, but a share of the blocks is updated by the GPU, which keeps their states, at the same time",
       .differs = "the share, which users set by hand, is the fastest one",
       .strategy = offload,
       .open = {{&Strategy::device_state_blocks, kFastest}}},
  };
}

/// Weights too wait elsewhere, or states on drives.
std::vector<OffloadSystem> later_zero_systems() {
  return {
      {.name = "zero-3-offload",
       .paper = "Rajbhandari et al. 2020, ZeRO, SC; DeepSpeed 2021, ZeRO-3 Offload",
       .choices = "weights too wait in host memory and come block by block, forward and backward, ahead of their use",
       .differs = "small tensors do not stay on the GPU (param_persistence_threshold)",
       .strategy = {.recompute_every = 1, .parameters = kHost, .optimizer = kHost, .gradients = kHost, .staging_slots = 3}},
      {.name = "zero-infinity",
       .paper = "Rajbhandari et al. 2021, ZeRO-Infinity, SC",
       .choices = "weights, gradients and states on NVMe, checkpoints of activations in host memory; reads run three blocks ahead, "
                  "copies two, and the update reads, computes and writes at the same time",
       .differs = "gradients are stored in the type in which they are computed, not in fp32",
       .strategy = {.recompute_every = 1, .parameters = kSsd, .optimizer = kSsd, .gradients = kSsd, .activations = kHost,
                    .staging_slots = 4}},
      {.name = "mlp-offload",
       .paper = "Maurya et al. 2025, MLP-Offload, SC",
       .choices = "states on NVMe but for as many blocks as host memory holds; gradients wait in host memory in two bytes",
       .differs = "one drive instead of a drive and a parallel file system; the cached blocks are always the same ones, which "
                  "gives as many hits as turning the order round each step",
       .strategy = {.recompute_every = 1, .optimizer = kSsd, .gradients = kHost, .staging_slots = 3},
       .open = {{&Strategy::host_state_blocks, kLargest}}},
  };
}

std::vector<OffloadSystem> chunk_systems() {
  const Strategy away{.recompute_every = 1, .parameters = kHost, .optimizer = kHost, .gradients = kHost};
  return {
      {.name = "gemini-static",
       .paper = "Fang et al. 2023 and Colossal-AI, Gemini (placement policy static)",
       .choices = "all chunks of weights and of states in host memory (offload_param_frac and offload_optim_frac 1)",
       .differs = "a gradient does not take its weights' chunk",
       .strategy = away},
      {.name = "gemini",
       .paper = "Fang et al. 2023 and Colossal-AI, Gemini (placement policy auto)",
       .choices = "as many chunks of weights as fit beside what a warm-up step measured stay on the GPU, others are evicted by "
                  "farthest next use; what then is left holds states, which the GPU updates",
       .differs = "what else the step needs is known, not sampled; the first blocks stay, which saves as many copies a step as "
                  "eviction by farthest next use; a gradient does not take its weights' chunk",
       .strategy = away,
       .open = {{&Strategy::device_parameter_blocks, kLargest}, {&Strategy::device_state_blocks, kLargest}}},
      {.name = "patrickstar",
       .paper = "Fang et al. 2022, PatrickStar, TPDS",
       .choices = "chunks as in Gemini; what the warm-up step leaves of the GPU's memory (the margin) holds states first",
       .differs = "a gradient does not take its weights' chunk: 16 bytes a parameter, not 14",
       .strategy = away,
       .open = {{&Strategy::device_state_blocks, kLargest}, {&Strategy::device_parameter_blocks, kLargest}}},
  };
}

std::vector<OffloadSystem> drive_systems() {
  const Strategy on_drives{.recompute_every = 1, .parameters = kSsd, .optimizer = kSsd, .gradients = kHost, .activations = kSsd,
                           .update_in_backward = true};
  return {
      {.name = "fuyou",
       .paper = "Liao et al. 2024, Adding NVMe SSDs to Enable and Accelerate 100B Model Fine-tuning on a Single GPU, arXiv 2403.06504",
       .choices = "weights, states and activations on SSDs; each gradient is used during backward; as many of a block's outputs are "
                  "kept there as make the step shortest",
       .differs = "the norm clips (the original does not): a guessed update is made again where it does; --clip 0 is the original",
       .strategy = on_drives,
       .open = {{&Strategy::kept_outputs, kFastest}}},
      {.name = "lohan",
       .paper = "Liao et al. 2025, LoHan (Ratel), ICDE",
       .choices = "as fuyou; host memory takes activations first, and only what it has no room for goes to the SSDs; the amount makes "
                  "T(A), the sum of forward's and backward's slowest resources, least",
       .differs = "as fuyou; T(A) is what the simulator says",
       .strategy = on_drives,
       .open = {{&Strategy::kept_outputs, kFastest}, {&Strategy::host_activation_blocks, kLargest}}},
  };
}

std::vector<OffloadSystem> streaming_systems() {
  return {
      {.name = "l2l",
       .paper = "Pudipeddi et al. 2020, Training Large Neural Networks with Constant Memory using a New Execution Algorithm, "
                "arXiv 2002.05645",
       .choices = "one layer at a time is on the device, through which all micro-batches pass; the host updates a layer as soon as "
                  "its gradient is complete; inputs of layers wait in host memory",
       .differs = "the norm clips: a guessed update is made again where it does",
       .strategy = {.recompute_every = 1, .parameters = kHost, .optimizer = kHost, .gradients = kHost, .activations = kHost,
                    .loop_order = LoopOrder::kBreadthFirst, .update_in_backward = true}},
      {.name = "superoffload",
       .paper = "Lian et al. 2026, SuperOffload, ASPLOS",
       .choices = "the CPU updates during backward on the guess that nothing clips and is made to repeat where that is wrong; the "
                  "last gradients' states stay on the GPU, which updates these",
       .differs = "gradients are sent in the type in which they are computed; states keep two versions where the original undoes",
       .strategy = {.recompute_every = 1, .optimizer = kHost, .gradients = kHost, .update_in_backward = true},
       .open = {{&Strategy::device_state_blocks, kFastest}}},
      {.name = "zenflow",
       .paper = "Lan et al. 2025, ZenFlow, arXiv 2505.12242",
       .choices = "the GPU updates the few most important columns of each gradient at once; the host sums the others over four steps "
                  "and updates behind the computation",
       .differs = "",
       .strategy = {.recompute_every = 1, .optimizer = kHost, .gradients = kHost},
       .refusal = "its selection of columns is another optimizer, and no kernel here computes it; --stack deepspeed --zenflow "
                  "0.1 foretells what it needs and takes"},
      {.name = "megatrain",
       .paper = "Yuan et al. 2026, MegaTrain, arXiv 2604.05091",
       .choices = "weights and states in host memory, two layers' weights on the GPU; every fourth layer's input is kept; weights come "
                  "three times a step; the CPU clips and updates after backward",
       .differs = "mixed precision keeps fp32 weights too, which the original does without: 16 bytes a parameter, not 12",
       .strategy = {.recompute_every = 4, .parameters = kHost, .optimizer = kHost, .gradients = kHost}},
  };
}

}  // namespace

const std::vector<OffloadSystem>& offload_systems() {
  static const std::vector<OffloadSystem> all = [] {
    std::vector<OffloadSystem> systems;
    for (const auto& part : {zero_systems(), later_zero_systems(), chunk_systems(), drive_systems(), streaming_systems(), activation_systems(), checkpointing()}) {
      systems.insert(systems.end(), part.begin(), part.end());
    }
    return systems;
  }();
  return all;
}

}  // namespace plimsoll
