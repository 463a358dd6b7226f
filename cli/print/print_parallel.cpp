#include "cli/print/print_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cli/print/print_training.h"
#include "core/model/parameters.h"
#include "formats/text/json_text.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {
namespace {

constexpr std::size_t kShownRanks = 8;

std::string seconds(double value) { return to_text(from_seconds(value)); }

std::string memory_parts(const RankMemory& m) {
  return fmt::format("parameters {}, gradients {}, optimizer {}, activations {}, workspace {}", to_text(m.parameters),
                     to_text(m.gradients), to_text(m.optimizer), to_text(m.activations), to_text(m.workspace));
}

std::string seconds_lines(const ParallelAnswer& answer) {
  const RankSeconds& s = answer.ranks[answer.last].seconds;
  std::string text = fmt::format("  time    rank {}: forward {}, backward {}, optimizer {}\n", answer.last,
                                 seconds(s.forward), seconds(s.backward), seconds(s.optimizer));
  text += fmt::format("          waits: pipeline {}, other ranks' end {}\n", seconds(s.bubble), seconds(s.wait));
  text += fmt::format("          exposed communication: tensor and context {}, gradients {}", seconds(s.tensor_sends),
                      seconds(s.gradient_sends));
  if (s.shard_sends > 0) text += fmt::format(", shards {}", seconds(s.shard_sends));
  if (s.expert_sends > 0) text += fmt::format(", experts {}", seconds(s.expert_sends));
  return text + "\n";
}

std::string rank_lines(const ParallelAnswer& answer) {
  std::string text =
      fmt::format("  {:<6}{:>8}{:>12}{:>12}{:>12}{:>12}\n", "rank", "layers", "memory", "compute", "waits", "sends");
  const std::size_t step = std::max<std::size_t>(1, (answer.ranks.size() + kShownRanks - 1) / kShownRanks);
  for (std::size_t rank = 0; rank < answer.ranks.size(); ++rank) {
    if (rank % step != 0 && rank + 1 != answer.ranks.size()) continue;
    const RankAnswer& own = answer.ranks[rank];
    const RankSeconds& s = own.seconds;
    text += fmt::format("  {:<6}{:>8}{:>12}{:>12}{:>12}{:>12}\n", rank, own.layers, to_text(own.memory.total()),
                        seconds(s.forward + s.backward + s.optimizer), seconds(s.bubble + s.wait),
                        seconds(s.tensor_sends + s.gradient_sends + s.shard_sends + s.expert_sends));
  }
  return text;
}

std::string seconds_json(const RankSeconds& s) {
  return JsonLine()
      .number("forward_seconds", s.forward)
      .number("backward_seconds", s.backward)
      .number("tensor_communication_seconds", s.tensor_sends)
      .number("expert_communication_seconds", s.expert_sends)
      .number("shard_communication_seconds", s.shard_sends)
      .number("gradient_communication_seconds", s.gradient_sends)
      .number("bubble_seconds", s.bubble)
      .number("optimizer_seconds", s.optimizer)
      .number("wait_seconds", s.wait)
      .str();
}

std::string categories_json(const RankMemory& m) {
  JsonLine line;
  line.integer("parameters", m.parameters.count)
      .integer("gradients", m.gradients.count)
      .integer("optimizer", m.optimizer.count);
  return line.integer("activations", m.activations.count)
      .integer("workspace", m.workspace.count)
      .integer("framework", 0)
      .str();
}

std::string space_json(const ParallelQuestion& question, const ParallelAnswer& answer) {
  const Bytes peak = answer.peak();
  JsonLine line;
  line.text("space", "gpu0")
      .integer("capacity_bytes", question.cluster.gpu.memory.count)
      .integer("usable_bytes", answer.usable.count);
  line.integer("margin_bytes", (answer.usable - peak).count).flag("certain", false).integer("peak_bytes", peak.count);
  line.integer("peak_allocated_bytes", peak.count).integer("peak_reserved_bytes", peak.count);
  line.integer("peak_process_bytes", (peak + (question.cluster.gpu.memory - answer.usable)).count);
  return line.raw("by_category", categories_json(answer.ranks[answer.fullest].memory)).str();
}

std::string layout_json(const ParallelAnswer& answer) {
  const ParallelLayout& l = answer.layout;
  JsonLine line;
  line.integer("dp", l.data_ranks)
      .integer("tp", l.tensor_ranks)
      .text("tensor_layout", to_text(l.tensor_layout))
      .integer("pp", l.stages)
      .integer("cp", l.context_ranks)
      .integer("ep", l.expert_ranks);
  line.integer("zero", l.zero)
      .flag("sequence_parallel", l.sequence_parallel)
      .flag("partition_activations", l.partitions_checkpoints)
      .flag("tp_comm_overlap", l.cuts_products)
      .text("schedule", l.schedule)
      .integer("chunks", l.chunks);
  line.integer("micro_batch", l.micro_batch)
      .integer("global_batch", l.global_batch)
      .integer("micro_batches", l.micro_batches());
  line.text("recompute", to_text(l.recomputation)).text("simulation", answer.exact ? "exact" : "folded");
  return line.integer("simulated_ranks", answer.simulated_ranks).str();
}

std::string ranks_json(const ParallelAnswer& answer) {
  std::vector<std::string> items;
  for (std::size_t rank = 0; rank < answer.ranks.size(); ++rank) {
    const RankAnswer& own = answer.ranks[rank];
    items.push_back(JsonLine()
                        .integer("rank", static_cast<std::int64_t>(rank))
                        .integer("layers", own.layers)
                        .integer("peak_bytes", own.memory.total().count)
                        .raw("by_category", categories_json(own.memory))
                        .raw("seconds", seconds_json(own.seconds))
                        .str());
  }
  return json_lines(items, 2);
}

std::string phases_json(const RankSeconds& s) {
  JsonLine line;
  line.number("forward_seconds", s.forward)
      .number("backward_seconds", s.backward)
      .number("optimizer_seconds", s.optimizer);
  line.number("exposed_transfer_seconds", 0);
  return line
      .number("exposed_communication_seconds", s.tensor_sends + s.expert_sends + s.shard_sends + s.gradient_sends)
      .str();
}

/// Memory is counted without an allocator here: within 3 %, the share of `fit --stack` (predict_stack), it is not decided.
std::string verdict_text(const ParallelAnswer& answer) {
  constexpr double kGuard = 0.03;
  const double margin = static_cast<double>((answer.usable - answer.peak()).count) / static_cast<double>(std::max<std::int64_t>(1, answer.usable.count));
  return fmt::format("{}{}", answer.fits() ? "fits" : "does not fit", std::abs(margin) < kGuard ? ", too close to call" : "");
}

}  // namespace

std::string parallel_text(const ParallelQuestion& question, const ParallelAnswer& answer,
                          const std::vector<std::string>& notes, const std::optional<TrainingAnswer>& training) {
  const Cluster& cluster = question.cluster;
  const RankMemory& full = answer.ranks[answer.fullest].memory;
  std::string text =
      fmt::format("{} on {} x {} ({} node{}): {}\n", question.spec.name, cluster.gpus, cluster.gpu.name,
                  cluster.nodes(), cluster.nodes() == 1 ? "" : "s", verdict_text(answer));
  text += fmt::format("  layout  {}\n", describe(answer.layout));
  text += fmt::format("  step    {} ({} to {}, {}), {:.0f} tokens/s, {:.2f} samples/s\n", seconds(answer.step_seconds),
                      seconds(answer.step_low), seconds(answer.step_high), to_text(answer.origin),
                      answer.tokens_per_second, answer.samples_per_second);
  text += fmt::format(
      "          {:.1f} TFLOP/s a GPU of model arithmetic, {:.1f} with recomputation; {}: {} of {} ranks simulated\n",
      answer.model_tflops_per_gpu(), answer.hardware_tflops_per_gpu(), answer.exact ? "exact" : "folded",
      answer.simulated_ranks, answer.layout.gpus());
  text += fmt::format("  bubble  {:.2f} % of the passes\n", 100 * answer.bubble_fraction) + seconds_lines(answer);
  text += fmt::format("  memory  rank {}: {} of {} usable; {}\n", answer.fullest, to_text(full.total()),
                      to_text(answer.usable), memory_parts(full));
  text += fmt::format("  limit   {}, {:.0f} % of the step\n", answer.limit, 100 * answer.limit_share);
  if (answer.ranks.size() > 1) text += rank_lines(answer);
  if (training) text += training_text(*training);
  for (const std::string& note : notes) text += fmt::format("  note    {}\n", note);
  for (const std::string& note : answer.assumed) text += fmt::format("  note    {}\n", note);
  return text;
}

namespace {

JsonLine answer_json(const ParallelQuestion& question, const ParallelAnswer& answer) {
  JsonLine line;
  line.integer("format_version", 1).text("verdict", answer.fits() ? "fits" : "does_not_fit");
  line.raw("model",
           JsonLine().text("name", question.spec.name).integer("parameters", parameter_count(question.spec)).str());
  line.raw("strategy", JsonLine().text("name", describe(answer.layout)).str())
      .text("stack", "megatron")
      .integer("gpus", answer.layout.gpus());
  line.number("step_seconds", answer.step_seconds)
      .number("step_seconds_low", answer.step_low)
      .number("step_seconds_high", answer.step_high);
  line.number("tokens_per_second", answer.tokens_per_second).number("samples_per_second", answer.samples_per_second);
  line.number("model_tflops_per_gpu", answer.model_tflops_per_gpu())
      .number("hardware_tflops_per_gpu", answer.hardware_tflops_per_gpu());
  line.number("bubble_fraction", answer.bubble_fraction).raw("phases", phases_json(answer.ranks[answer.last].seconds));
  line.raw("memory", json_list({space_json(question, answer)}));
  line.raw("bottleneck", JsonLine().text("resource", answer.limit).number("busy_fraction", answer.limit_share).str());
  line.raw("calibration", JsonLine()
                              .text("kind", to_text(answer.origin))
                              .text("source", "kernels and collectives by data/calibration")
                              .str());
  line.raw("parallel", layout_json(answer))
      .integer("worst_rank", static_cast<std::int64_t>(answer.last))
      .raw("ranks", ranks_json(answer));
  line.raw("assumed", json_list(json_texts(answer.assumed)));
  return line;
}

}  // namespace

std::string parallel_json(const ParallelQuestion& question, const ParallelAnswer& answer) {
  return answer_json(question, answer).str() + "\n";
}

std::string searched_json(const ParallelQuestion& question, const ParallelAnswer& answer, const LayoutSearch& search,
                          const std::optional<TrainingAnswer>& training) {
  std::vector<std::string> front;
  for (const ParallelAnswer& one : search.front) {
    front.push_back(JsonLine()
                        .text("strategy", describe(one.layout))
                        .number("step_seconds", one.step_seconds)
                        .integer("peak_bytes", one.peak().count)
                        .raw("parallel", layout_json(one))
                        .str());
  }
  JsonLine counts;
  counts.integer("tried", static_cast<std::int64_t>(search.tried))
      .integer("fitting", static_cast<std::int64_t>(search.fitting));
  JsonLine line = answer_json(question, answer);
  if (training) line.raw("training", to_json(*training));
  return line.raw("alternatives", json_lines(front, 2)).raw("search", counts.str()).str() + "\n";
}

}  // namespace plimsoll
