#include "formats/exporters/checkpoint_policy.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/exporters/commented_text.h"
#include "formats/exporters/embedded_exporters.h"
#include "formats/exporters/kept_operators.h"
#include "formats/exporters/refusals.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

/// Of blocks whose activations wait elsewhere, the first so many do.
std::int64_t blocks_away(const ExportedTraining& training) {
  return static_cast<std::int64_t>(training.activations_away * static_cast<double>(training.spec.layers) + 0.5);
}

ordered_json segment_json(const ExportedTraining& training, const KeptSegment& segment) {
  ordered_json keep = ordered_json::object(), bytes = ordered_json::object();
  const bool operators = segment.again && training.checkpoints != ExportedCheckpoints::kBlocks;
  for (const KeptKind& kind : segment.kinds) {
    if (!operators || kind.keep.empty()) continue;
    keep[kind.kind] = kind.keep;
    if (training.of_plan()) bytes[kind.kind] = kind.bytes.count;
  }
  return {{"first", segment.first},
          {"last", segment.last},
          {"mode", !segment.again ? "keep"
                   : operators    ? "operators"
                                  : "input"},
          {"on_cpu", segment.last < blocks_away(training)},
          {"keep", keep},
          {"kept_bytes", bytes}};
}

Result<void> check_policy(const ExportedTraining& training) {
  const TargetReach reach{
      .who = "a checkpoint policy", .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .activations = Tier::kHost};
  if (const auto goes = check_reach(training, reach); !goes) return goes;
  if (torch_blocks(training.spec) == nullptr) {
    return cannot_export(
        fmt::format("no list of blocks is known of {} ({})", training.spec.name, to_text(training.spec.family)),
        "take a model of one stack of blocks");
  }
  if (training.spec.experts.count > 0 && training.checkpoints == ExportedCheckpoints::kOperators) {
    return cannot_export("how many products the experts of a block are is decided while they run",
                         "choose a --strategy that keeps no single operators");
  }
  return {};
}

void note_policy(const ExportedTraining& training, const std::vector<KeptSegment>& segments,
                 std::vector<std::string>& notes) {
  const auto note = [&](bool applies, std::string text) {
    if (applies) notes.push_back(std::move(text));
  };
  Bytes unspoken;
  for (const KeptSegment& segment : segments) unspoken += segment.unspoken;
  const bool operators = training.checkpoints == ExportedCheckpoints::kOperators;
  note(operators && unspoken.count > 0, fmt::format("{} that the plan keeps of norms, rotations and statistics are "
                                                    "several small operators in PyTorch and are computed again",
                                                    to_text(unspoken)));
  note(operators && is_gated(training.spec.activation),
       "a gated activation is two operators: the first one's output is kept, the product with the other half is "
       "computed again");
  note(operators,
       "an activation function that the model writes out (gelu_new) has no operator to keep; take gelu_pytorch_tanh");
  note(training.parameters != Tier::kDevice || training.optimizer != Tier::kDevice,
       "where parameters and states wait is not in this file: export --to fsdp2 or deepspeed");
  note(operators && training.activations == Tier::kHost,
       "kept operators wait in host memory where checkpoint() knows respect_saved_tensors_hooks; in an older PyTorch "
       "they stay on the device");
  note(training.checkpoints == ExportedCheckpoints::kNone && training.activations == Tier::kDevice,
       "the training computes nothing again: the file changes nothing");
}

}  // namespace

Result<ExportedText> checkpoint_policy(const ExportedTraining& training) {
  if (const auto goes = check_policy(training); !goes) return fail(goes.error());
  const TorchBlocks& blocks = *torch_blocks(training.spec);
  const std::vector<KeptSegment> segments = kept_segments(training, blocks);
  ExportedText out;
  note_policy(training, segments, out.notes);
  note_model(training, out.notes);
  std::string table;
  for (const KeptSegment& segment : segments)
    table += fmt::format("{}    {}", table.empty() ? "" : ",\n", segment_json(training, segment).dump());
  const std::string plan = fmt::format("{{\"format_version\": 1, \"blocks\": {}, \"segments\": [\n{}\n]}}",
                                       ordered_json(blocks.list).dump(), table);
  // JSON's quotes are no danger in a raw text between three apostrophes, and names of modules have none.
  out.text = heading(training, "torch-checkpoint", out.notes) +
             std::string(embedded_exporters("formats/exporters/checkpoint_blocks.py")) +
             fmt::format("\n\nPLAN = json.loads(r'''{}''')\n", plan);
  return out;
}

}  // namespace plimsoll
