#include "cli/print/print_inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

std::string seconds(double value) { return to_text(from_seconds(value)); }

std::string space_line(const InferenceSpace& space) {
  const InferenceBytes& b = space.needs;
  return fmt::format("  {:<6}{:>14}{:>12}{:>12}   weights {}, KV cache {}, activations {}, workspace {}\n", space.space,
                     to_text(b.total()), to_text(space.usable),
                     space.margin() < Bytes(0) ? "-" + to_text(Bytes(-space.margin().count)) : to_text(space.margin()),
                     to_text(b.weights), to_text(b.cache), to_text(b.activations), to_text(b.workspace));
}

std::string time_lines(const InferenceAnswer& answer) {
  const double tokens = static_cast<double>(answer.task.sequences * answer.task.new_tokens);
  std::string text = fmt::format("  speed   {:.4g} tokens/s ({:.4g} to {:.4g}); {} tokens in {}\n", answer.tokens_per_second(),
                                 tokens / answer.seconds_high, tokens / answer.seconds_low,
                                 answer.task.sequences * answer.task.new_tokens, seconds(answer.time.seconds()));
  text += fmt::format("          first token of all sequences after {}", seconds(answer.time.prefill_seconds));
  if (answer.task.new_tokens > 1) {
    text += fmt::format(", then a step takes {} at first and {} in the end", seconds(answer.time.first_token_step),
                        seconds(answer.time.last_token_step));
  }
  text += "\n";
  if (answer.steady_tokens_per_second) {
    text += fmt::format("  steady  {:.4g} tokens/s with requests that come as others end\n", *answer.steady_tokens_per_second);
  }
  return text;
}

nlohmann::ordered_json shares_json(const TierShares& shares) {
  return {{"gpu", shares.gpu}, {"cpu", shares.cpu}, {"ssd", shares.ssd()}};
}

nlohmann::ordered_json policy_json(const OffloadPolicy& policy) {
  return {{"gpu_batch", policy.gpu_batch},
          {"batches", policy.batches},
          {"weights", shares_json(policy.weights)},
          {"cache", shares_json(policy.cache)},
          {"activations", shares_json(policy.activations)},
          {"cpu_attention", policy.cpu_attention},
          {"weight_bits", policy.weight_code.bits},
          {"cache_bits", policy.cache_code.bits},
          {"overlap", policy.overlap},
          {"program", to_text(policy.program)},
          {"words", to_text(policy)}};
}

nlohmann::ordered_json memory_json(const InferenceSpace& space) {
  return {{"space", space.space},
          {"peak_bytes", space.needs.total().count},
          {"usable_bytes", space.usable.count},
          {"margin_bytes", space.margin().count},
          {"by_category",
           {{"weights", space.needs.weights.count},
            {"kv_cache", space.needs.cache.count},
            {"activations", space.needs.activations.count},
            {"workspace", space.needs.workspace.count}}}};
}

std::string policy_line(const OffloadPolicy& policy, double tokens_per_second, Bytes device) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", tokens_per_second, device.count, policy.gpu_batch, policy.batches,
                     policy.weights.gpu, policy.weights.cpu, policy.cache.gpu, policy.cache.cpu, policy.activations.gpu,
                     policy.activations.cpu, policy.cpu_attention, csv_field(to_text(policy)));
}

}  // namespace

std::string inference_text(const InferenceAnswer& answer, const std::string& machine) {
  const InferenceTask& task = answer.task;
  std::string text = fmt::format("{} ({:.4g} B parameters, {}) on {}, {} x {} + {} tokens: {}\n", task.spec.name,
                                 static_cast<double>(answer.parameters) / 1e9, to_text(task.type()), machine, task.sequences,
                                 task.prompt, task.new_tokens, answer.fits ? "FITS" : "DOES NOT FIT");
  text += fmt::format("  policy  {}\n", to_text(answer.policy));
  text += time_lines(answer);
  const BusyQueue& busiest = answer.time.queues.front();
  text += fmt::format("  limit   {}, busy {:.0f} % of the time; no schedule of this policy takes less than {}\n", busiest.name,
                      100 * busiest.seconds / answer.time.seconds(), seconds(answer.bound_seconds));
  text += fmt::format("  bytes   weights {} ({}), KV cache {} a token ({})\n", answer.weight_bytes.count,
                      to_text(answer.weight_bytes), answer.cache_bytes_per_token.count, to_text(answer.cache_bytes_per_token));
  text += "  memory         needs      usable      margin   of that\n";
  for (const InferenceSpace& space : answer.memory) text += space_line(space);
  for (const InferenceAlternative& other : answer.alternatives) {
    text += fmt::format("  other   {:.4g} tokens/s with {} on the device: {}\n", other.tokens_per_second, to_text(other.device),
                        to_text(other.policy));
  }
  text += fmt::format("  numbers {}: {}; simulated only, plimsoll runs no such schedule\n", to_text(answer.time.origin),
                      answer.source);
  return text;
}

std::string inference_json(const InferenceAnswer& answer) {
  const InferenceTask& task = answer.task;
  nlohmann::ordered_json json{{"format_version", 1},
                              {"workload", "inference"},
                              {"verdict", answer.fits ? "fits" : "does_not_fit"},
                              {"model", {{"name", task.spec.name}, {"parameters", answer.parameters}}},
                              {"prompt", task.prompt},
                              {"new_tokens", task.new_tokens},
                              {"sequences", task.sequences},
                              {"policy", policy_json(answer.policy)},
                              {"seconds", answer.time.seconds()},
                              {"seconds_low", answer.seconds_low},
                              {"seconds_high", answer.seconds_high},
                              {"time_to_first_token_seconds", answer.time.prefill_seconds},
                              {"first_step_seconds", answer.time.first_token_step},
                              {"last_step_seconds", answer.time.last_token_step},
                              {"tokens_per_second", answer.tokens_per_second()},
                              {"steady_tokens_per_second", nullptr},
                              {"weight_bytes", answer.weight_bytes.count},
                              {"kv_bytes_per_token", answer.cache_bytes_per_token.count},
                              {"memory", nlohmann::ordered_json::array()},
                              {"queues", nlohmann::ordered_json::array()},
                              {"lower_bound", {{"seconds", answer.bound_seconds}}},
                              {"alternatives", nlohmann::ordered_json::array()},
                              {"calibration", {{"kind", to_text(answer.time.origin)}, {"source", answer.source}}},
                              {"simulated_only", true}};
  if (answer.steady_tokens_per_second) json["steady_tokens_per_second"] = *answer.steady_tokens_per_second;
  for (const InferenceSpace& space : answer.memory) json["memory"].push_back(memory_json(space));
  for (const BusyQueue& queue : answer.time.queues) {
    json["queues"].push_back({{"name", queue.name}, {"busy_fraction", queue.seconds / answer.time.seconds()}});
  }
  json["bottleneck"] = {{"resource", answer.time.queues.front().name},
                        {"busy_fraction", answer.time.queues.front().seconds / answer.time.seconds()}};
  for (const InferenceAlternative& other : answer.alternatives) {
    json["alternatives"].push_back({{"policy", policy_json(other.policy)},
                                    {"tokens_per_second", other.tokens_per_second},
                                    {"device_bytes", other.device.count}});
  }
  return json.dump(2) + "\n";
}

std::string inference_csv(const InferenceAnswer& answer) {
  std::string text =
      "tokens_per_second,device_bytes,gpu_batch,batches,weights_gpu,weights_cpu,cache_gpu,cache_cpu,activations_gpu,"
      "activations_cpu,cpu_attention,words\n";
  text += policy_line(answer.policy, answer.tokens_per_second(), answer.memory.front().needs.total());
  for (const InferenceAlternative& other : answer.alternatives) {
    text += policy_line(other.policy, other.tokens_per_second, other.device);
  }
  return text;
}

}  // namespace plimsoll
