#include "sim/parallel/parallel_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/model/foreign_feature.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string where, std::string what, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

/// The divisor of `whole` that is nearest to `wanted`, the smaller of two.
std::int64_t nearest_divisor(std::int64_t whole, std::int64_t wanted) {
  for (std::int64_t away = 0; away < whole + wanted; ++away) {
    if (wanted - away >= 1 && whole % (wanted - away) == 0) return wanted - away;
    if (wanted + away <= whole && whole % (wanted + away) == 0) return wanted + away;
  }
  return 1;
}

Result<void> divides(const char* option, std::int64_t degree, std::int64_t whole, const char* what) {
  if (degree >= 1 && whole % degree == 0) return {};
  return refuse(option, fmt::format("{} {} do not divide by {}", whole, what, degree),
                fmt::format("take {} {}", option, nearest_divisor(whole, degree)));
}

Result<void> check_world(const ParallelLayout& layout, std::int64_t gpus) {
  if (layout.gpus() == gpus) return {};
  const std::int64_t others = layout.tensor_ranks * layout.stages * layout.context_ranks;
  const std::string product =
      fmt::format("dp {} x tp {} x pp {} x cp {} are {} GPUs, not {}", layout.data_ranks, layout.tensor_ranks,
                  layout.stages, layout.context_ranks, layout.gpus(), gpus);
  return refuse(
      "--gpus", product,
      gpus % others == 0 ? fmt::format("take --dp {}", gpus / others) : fmt::format("take --gpus {}", layout.gpus()));
}

Result<void> check_batch(const ParallelLayout& layout) {
  const std::int64_t once = layout.data_ranks * layout.micro_batch;
  if (layout.global_batch < once || layout.global_batch % once != 0) {
    return refuse("--global-batch",
                  fmt::format("{} sequences do not divide into micro-batches of {} on {} data ranks",
                              layout.global_batch, layout.micro_batch, layout.data_ranks),
                  fmt::format("take --global-batch {}", (layout.global_batch + once - 1) / once * once));
  }
  if (layout.schedule == "interleaved" && layout.chunks > 1 && layout.micro_batches() % layout.stages != 0) {
    return refuse("--schedule interleaved",
                  fmt::format("{} micro-batches do not divide by {} stages", layout.micro_batches(), layout.stages),
                  fmt::format("take --global-batch {}",
                              (layout.micro_batches() + layout.stages - 1) / layout.stages * layout.stages * once));
  }
  return {};
}

Result<void> check_experts(const ModelSpec& spec, const ParallelLayout& layout) {
  if (layout.expert_ranks == 1) return {};
  if (spec.experts.count == 0) return refuse("--ep", fmt::format("{} has no experts", spec.name), "leave --ep out");
  if (auto fits = divides("--ep", layout.expert_ranks, spec.experts.count, "experts"); !fits) return fits;
  return divides("--ep", layout.expert_ranks, layout.data_ranks, "data ranks");
}

/// Of ranks that stand in a square or a cube: rows of the batch, heads and widths are all cut.
Result<void> check_grid(const ModelSpec& spec, const Recipe& recipe, const ParallelLayout& layout) {
  if (layout.tensor_layout == TensorLayout::kLine) return {};
  if (auto stands = validate(layout.grid()); !stands)
    return refuse("--tensor-layout", stands.error().what, stands.error().remedy);
  if (layout.context_ranks > 1 || layout.sequence_parallel || spec.experts.count > 0) {
    return refuse("--tensor-layout", "ranks in a square or a cube cut rows and experts themselves",
                  "leave --cp, --sequence-parallel and experts out, or take --tensor-layout 1d");
  }
  const std::int64_t side = layout.grid().side();
  if (auto fits = divides("--tensor-layout", side, spec.hidden, "columns of the stream"); !fits) return fits;
  if (auto fits = divides("--tensor-layout", side, recipe.sequence, "tokens of a sequence"); !fits) return fits;
  const std::int64_t rows = layout.tensor_ranks / side;
  if (layout.micro_batch % rows == 0) return {};
  return refuse("--micro-batch", fmt::format("{} sequences do not divide over {} rows of devices", layout.micro_batch, rows),
                fmt::format("take --micro-batch {}", (layout.micro_batch + rows - 1) / rows * rows));
}

/// ZeRO-R divides what tensor ranks would all keep of a block that is computed again.
Result<void> check_checkpoints(const ParallelLayout& layout) {
  if (!layout.partitions_checkpoints) return {};
  const char* const option = "--partition-activations";
  if (layout.tensor_ranks == 1 || layout.recomputation != Recomputation::kFull)
    return refuse(option, "tensor ranks divide the inputs of blocks that are computed again", "add --tp and --recompute full");
  if (!layout.sequence_parallel && layout.tensor_layout == TensorLayout::kLine) return {};
  return refuse(option, "the rows of the stream are divided already", "leave it out");
}

/// Pieces of a product are the rows of one rank each.
Result<void> check_pieces(const ParallelLayout& layout) {
  if (!layout.cuts_products) return {};
  const bool line = layout.tensor_layout == TensorLayout::kLine;
  if (layout.tensor_ranks > 1 && layout.sequence_parallel && line) return {};
  return refuse("--tp-comm-overlap", "it gathers and scatters the rows that tensor ranks in a line divide",
                "add --tp and --sequence-parallel");
}

Result<void> check_cuts(const ModelSpec& spec, const Recipe& recipe, const ParallelLayout& layout) {
  const std::int64_t tensor = std::max<std::int64_t>(1, layout.grid().side());
  if (auto fits = divides("--tp", tensor, spec.heads, "heads"); !fits) return fits;
  if (auto fits = divides("--tp", tensor, spec.kv_heads, "key and value heads"); !fits) return fits;
  if (auto fits = divides("--tp", tensor, spec.ffn, "columns of the feed-forward layer"); !fits) return fits;
  const std::int64_t rows = layout.context_ranks * (layout.sequence_parallel ? tensor : 1);
  if (auto fits = divides("--cp", rows, recipe.sequence, "tokens of a sequence"); !fits) return fits;
  if (layout.context == ContextKind::kUlysses) {
    if (auto fits = divides("--cp", layout.context_ranks * tensor, spec.kv_heads, "key and value heads"); !fits)
      return fits;
  }
  const std::int64_t stretches = layout.stages * layout.chunks;
  // With embedding and head as layers of their own, a short first stretch may have no block.
  if (layers_of_stretch(spec.layers, stretches, std::min<std::int64_t>(1, stretches - 1)) > 0) return {};
  return refuse(
      "--pp",
      fmt::format("{} layers do not divide into {} stages of {} chunks", spec.layers, layout.stages, layout.chunks),
      fmt::format("take stages x chunks = {}", nearest_divisor(spec.layers, stretches)));
}

}  // namespace

std::int64_t layers_of_stretch(std::int64_t layers, std::int64_t stages, std::int64_t stage) {
  if (layers % stages == 0) return layers / stages;
  if ((layers + 2) % stages != 0 || stages < 2) return 0;
  const std::int64_t ends = (stage == 0 ? 1 : 0) + (stage + 1 == stages ? 1 : 0);
  return (layers + 2) / stages - ends;
}

Result<void> check_layout(const ModelSpec& spec, const Recipe& recipe, const ParallelLayout& layout,
                          std::int64_t gpus) {
  if (spec.reads_images() || spec.is_conv_net() || spec.decoder_layers > 0) {
    return refuse("MODEL", fmt::format("{} is no plain stack of blocks over tokens", spec.name),
                  "take a GPT, Llama or BERT, or say --stack pytorch");
  }
  if (const std::string_view foreign = foreign_feature(spec); !foreign.empty()) {
    return refuse("MODEL", fmt::format("{} {}, for which no layout has sizes", spec.name, foreign),
                  spec.latent.exists() ? "say --stack megatron, or --stack pytorch --zero 3" : "say --stack pytorch --zero 3");
  }
  if (layout.zero > 0 && layout.data_ranks * layout.context_ranks == 1)  // ranks of one sequence have the same weights, too
    return refuse("--zero", "there is one data rank, which shares nothing out", "leave --zero out");
  if (auto fits = check_grid(spec, recipe, layout); !fits) return fits;
  if (auto fits = check_cuts(spec, recipe, layout); !fits) return fits;
  if (auto fits = check_experts(spec, layout); !fits) return fits;
  if (auto fits = check_checkpoints(layout); !fits) return fits;
  if (auto fits = check_pieces(layout); !fits) return fits;
  if (auto fits = check_world(layout, gpus); !fits) return fits;
  return check_batch(layout);
}

namespace {

/// " (2.5D, 4 deep)": nothing of ranks in a line.
std::string standing(const ParallelLayout& layout) {
  if (layout.tensor_layout == TensorLayout::kLine) return {};
  const std::string depth = layout.tensor_layout == TensorLayout::kDeep ? fmt::format(", {} deep", layout.tensor_depth) : "";
  return fmt::format(" ({}{})", to_text(layout.tensor_layout), depth);
}

}  // namespace

std::string describe(const ParallelLayout& layout) {
  std::string text =
      fmt::format("dp {}, tp {}{}, pp {}", layout.data_ranks, layout.tensor_ranks, standing(layout), layout.stages);
  if (layout.chunks > 1) text += fmt::format(" x {} chunks", layout.chunks);
  if (layout.stages > 1) text += fmt::format(" ({})", layout.schedule);
  if (layout.context_ranks > 1)
    text += fmt::format(", cp {}{}", layout.context_ranks, layout.context == ContextKind::kUlysses ? " (ulysses)" : "");
  if (layout.expert_ranks > 1) text += fmt::format(", ep {}", layout.expert_ranks);
  if (layout.zero > 0) text += fmt::format(", ZeRO-{}", layout.zero);
  if (layout.sequence_parallel) text += ", sequence parallel";
  const std::string_view again = to_text(layout.recomputation);
  text += layout.micro_batches() == 1 ? fmt::format(", 1 micro-batch of {}, recompute {}", layout.micro_batch, again)
                                      : fmt::format(", {} micro-batches of {}, recompute {}", layout.micro_batches(), layout.micro_batch, again);
  if (layout.cuts_products) text += ", collectives beside pieces of products";
  return text + (layout.partitions_checkpoints ? ", checkpoints partitioned" : "");
}

}  // namespace plimsoll
