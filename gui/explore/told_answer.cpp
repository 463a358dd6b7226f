#include "gui/explore/told_answer.h"

#include <fmt/format.h>

#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"

namespace plimsoll::gui {
namespace {

constexpr const char* kWhere = "plimsoll fit --json";

SpaceAnswer read_space(const JsonNode& node) {
  const auto bytes = [&](const char* key) { return Bytes(node.at(key).integer(INT64_MIN, INT64_MAX)); };
  SpaceAnswer space{.space = node.at("space").text(), .capacity = bytes("capacity_bytes"), .usable = bytes("usable_bytes"),
                    .peak = bytes("peak_bytes")};
  space.peak_allocated = bytes("peak_allocated_bytes");
  space.peak_reserved = bytes("peak_reserved_bytes");
  space.peak_process = bytes("peak_process_bytes");
  space.certain = node.at("certain").boolean();
  space.peak_at = node.text_or("peak_at", "");
  const JsonNode by = node.at("by_category");
  const auto part = [&](const char* key) { return Bytes(by.at(key).integer(0, INT64_MAX)); };
  space.by_category = {part("parameters"), part("gradients"), part("optimizer"),
                       part("activations"), part("workspace"), part("framework")};
  return space;
}

void read_rates(const JsonNode& root, FitAnswer& answer) {
  answer.step_seconds = root.at("step_seconds").number(0);
  answer.step_seconds_low = root.at("step_seconds_low").number(0);
  answer.step_seconds_high = root.at("step_seconds_high").number(0);
  answer.tokens_per_second = root.at("tokens_per_second").number(0);
  answer.samples_per_second = root.at("samples_per_second").number(0);
  answer.model_tflops_per_gpu = root.at("model_tflops_per_gpu").number(0);
  answer.hardware_tflops_per_gpu = root.at("hardware_tflops_per_gpu").number(0);
  answer.bubble_fraction = root.at("bubble_fraction").number(0);
  const JsonNode phases = root.at("phases");
  answer.phases = {phases.at("forward_seconds").number(0), phases.at("backward_seconds").number(0),
                   phases.at("optimizer_seconds").number(0), phases.at("exposed_transfer_seconds").number(0),
                   phases.at("exposed_communication_seconds").number(0)};
}

void read_origin(const JsonNode& root, FitAnswer& answer) {
  answer.bottleneck = root.at("bottleneck").at("resource").text();
  answer.bottleneck_busy_fraction = root.at("bottleneck").at("busy_fraction").number(0);
  answer.calibration_kind = root.at("calibration").at("kind").text();
  answer.calibration_source = root.at("calibration").at("source").text();
  for (const JsonNode& note : root.elements_of("assumed")) answer.assumed.push_back(note.text());
}

/// A layout of several GPUs as options of `fit`, which then answers with it.
QStringList layout_options(const JsonNode& node) {
  const std::pair<const char*, const char*> numbers[] = {{"dp", "--dp"}, {"tp", "--tp"}, {"pp", "--pp"}, {"cp", "--cp"},
                                                         {"ep", "--ep"}, {"zero", "--zero"}, {"chunks", "--chunks"},
                                                         {"micro_batch", "--micro-batch"}, {"global_batch", "--global-batch"}};
  QStringList options;
  for (const auto& [key, option] : numbers) {
    options << QString::fromLatin1(option) << QString::number(node.at(key).integer(0, kMaxParsedCount));
  }
  options << QStringLiteral("--schedule") << QString::fromStdString(node.at("schedule").text());
  options << QStringLiteral("--recompute") << QString::fromStdString(node.at("recompute").text());
  if (node.at("sequence_parallel").boolean()) options << QStringLiteral("--sequence-parallel");
  return options;
}

/// The front of a search for layouts: all fit.
void read_alternatives(const JsonNode& root, Verdict& verdict) {
  for (const JsonNode& node : root.elements_of("alternatives")) {
    if (!node.has("parallel")) continue;
    AlternativeAnswer other{.strategy = node.at("strategy").text(), .step_seconds = node.at("step_seconds").number(0),
                            .peak = Bytes(node.at("peak_bytes").integer(0, INT64_MAX))};
    if (other.strategy == verdict.told.strategy.name) continue;
    other.choices.name = other.strategy;
    other.slower_seconds = other.step_seconds - verdict.told.step_seconds;
    verdict.told.alternatives.push_back(std::move(other));
    verdict.layouts.push_back(layout_options(node.at("parallel")));
  }
}

/// Of one that does not fit: what fits in the memory that there is.
std::vector<ChangeAnswer> read_savings(const JsonNode& root) {
  std::vector<ChangeAnswer> savings;
  for (const JsonNode& node : root.elements_of("changes")) {
    if (node.integer_or("more_bytes", 0, 0, INT64_MAX) > 0) continue;
    savings.push_back({.what = node.at("what").text(), .strategy = node.at("strategy").text(),
                       .step_seconds = node.at("step_seconds").number(0), .more = {}, .at_most = node.has("at_most")});
  }
  return savings;
}

FitAnswer read_answer(const JsonNode& root) {
  FitAnswer answer;
  answer.fits = root.at("verdict").text() == "fits";
  answer.model = root.at("model").at("name").text();
  answer.parameters = root.at("model").at("parameters").integer(0, INT64_MAX);
  answer.strategy.name = root.at("strategy").at("name").text();
  answer.setup = root.at("strategy").text_or("setup", "");
  answer.stack = root.at("stack").text();
  answer.gpus = root.integer_or("gpus", 1, 1, kMaxParsedCount);
  read_rates(root, answer);
  for (const JsonNode& space : root.elements_of("memory")) answer.memory.push_back(read_space(space));
  answer.smaller = read_savings(root);
  read_origin(root, answer);
  return answer;
}

}  // namespace

Result<SharedVerdict> read_told(const QByteArray& json, const Choices& choices, bool fell_back) {
  const auto parsed = parse_json(std::string_view(json.constData(), static_cast<std::size_t>(json.size())), kWhere);
  if (!parsed) return fail(parsed.error());
  JsonFault fault{.where = kWhere, .error = {}};
  const JsonNode root(*parsed, "", fault);
  Verdict verdict;
  verdict.told = read_answer(root);
  verdict.machine =
      choices.gpus > 1 ? fmt::format("{} x {}", choices.gpus, choices.gpu.toStdString()) : choices.gpu.toStdString();
  verdict.notes = verdict.told.assumed;
  verdict.searched = true;
  verdict.fell_back = fell_back;
  verdict.asked = fit_options(choices);
  read_alternatives(root, verdict);
  if (root.has("search")) {
    verdict.notes.push_back(fmt::format("{} layouts tried, {} fit", root.at("search").at("tried").integer(0, kMaxParsedCount),
                                        root.at("search").at("fitting").integer(0, kMaxParsedCount)));
  }
  if (root.has("ranks")) verdict.ranks = root.elements_of("ranks").size();
  if (fault.error) return fail(*fault.error);
  return std::make_shared<const Verdict>(std::move(verdict));
}

}  // namespace plimsoll::gui
