#include "sim/validation/judge_operators.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "formats/text/csv.h"
#include "formats/text/parse_json.h"
#include "sim/stack/operators/operator_programs.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(const PublishedRow& row, ErrorKind kind, std::string what) {
  return fail({.kind = kind, .what = std::move(what), .where = row.place, .remedy = {}});
}

Result<OperatorMode> state_mode(const PublishedRow& row) {
  const std::string_view mode = row.field("kernel_operation_mode");
  if (mode == "full") return OperatorMode::kFull;
  if (mode == "forward") return OperatorMode::kForward;
  if (mode == "backward") return OperatorMode::kBackward;
  return refuse(row, ErrorKind::kUnknownName, "unknown mode: " + std::string(mode));
}

/// Whole numbers of the configuration; what is swept stands there as null or not at all.
Result<void> state_sizes(const PublishedRow& row, OperatorCase& asked) {
  const auto config = parse_json(row.field("extra_benchmark_config_str"), row.place);
  if (!config) return fail(config.error());
  if (!config->is_object()) return refuse(row, ErrorKind::kInput, "the configuration is no object");
  for (const auto& [name, value] : config->items()) {
    if (value.is_number_integer() && value.get<std::int64_t>() > 0) asked.sizes[name] = value.get<std::int64_t>();
    if (value.is_boolean()) asked.sizes[name] = value.get<bool>() ? 1 : 0;
  }
  const auto swept = parse_number(row.field("x_value"));
  const bool whole = swept && *swept >= 1 && *swept == std::floor(*swept) && *swept < 1e12;
  if (!whole) return refuse(row, ErrorKind::kInput, "unreadable x_value: " + std::string(row.field("x_value")));
  asked.sizes[std::string(row.field("x_name"))] = static_cast<std::int64_t>(*swept);
  const std::string dtype = config->value("dtype", std::string());
  if (dtype == "torch.bfloat16") asked.dtype = DType::kBf16;
  if (dtype == "torch.float16") asked.dtype = DType::kFp16;
  if (!dtype.empty() && dtype != "torch.float32" && asked.dtype == DType::kFp32) {
    return refuse(row, ErrorKind::kUnknownName, "unknown type: " + dtype);
  }
  return {};
}

/// "0.5.10" as 510; 0 where there is none.
std::int64_t version_of(std::string_view text) {
  std::int64_t version = 0;
  std::int64_t part = 0;
  int parts = 0;
  for (const char c : std::string(text) + ".") {
    if (c == '.') {
      version = version * 100 + part;
      part = 0;
      ++parts;
    } else if (c >= '0' && c <= '9') {
      part = part * 10 + (c - '0');
    } else {
      return 0;
    }
  }
  return parts == 3 ? version : 0;
}

/// With what the process held before the benchmark, where the tables say so.
Result<Bytes> predict_row(const PublishedRow& row, const RowLexicon& lexicon) {
  RowFacts facts(row, apply_rules(lexicon.rules, row));
  const auto held = facts.whole_fact("held_before");
  if (facts.is_refused()) return refuse(row, ErrorKind::kInput, facts.refusals().front());
  const auto asked = state_operator(row, lexicon);
  if (!asked) return fail(asked.error());
  const auto own = predict_operator(*asked);
  if (!own) return fail(own.error());
  return *own + held.value_or(0) * kMiB;
}

}  // namespace

Result<OperatorCase> state_operator(const PublishedRow& row, const RowLexicon& lexicon) {
  constexpr Bytes kUpToAda{8519680};  // 4096 KiB · 2 + 16 KiB · 8: PyTorch's default for cuBLAS before Hopper
  constexpr Bytes kFromHopper = 32 * kMiB;
  OperatorCase asked{.kernel = std::string(row.field("kernel_name")),
                     .provider = std::string(row.field("kernel_provider"))};
  const auto mode = state_mode(row);
  if (!mode) return fail(mode.error());
  asked.mode = *mode;
  const std::string_view unit = row.field("metric_unit");
  if (unit != "MB") return refuse(row, ErrorKind::kUnknownName, "unknown unit: " + std::string(unit));
  if (!row.value || *row.value <= 0) return refuse(row, ErrorKind::kInput, "unreadable value");
  if (const auto sizes = state_sizes(row, asked); !sizes) return fail(sizes.error());
  const RowReading reading = apply_rules(lexicon.rules, row);
  for (const std::string_view name : {"kept_from", "half_logits"}) {
    if (const auto value = parse_number(reading.fact(name))) asked.sizes[std::string(name)] = static_cast<std::int64_t>(*value);
  }
  const auto gpu = find_gpu(lexicon.gpus, reading.fact("gpu").empty() ? row.field("gpu_name") : reading.fact("gpu"));
  if (!gpu) return refuse(row, ErrorKind::kUnknownName, "unknown GPU: " + std::string(row.field("gpu_name")));
  const auto capability = parse_number(gpu->compute_capability);
  asked.product_workspace = capability && *capability >= 9 && *capability < 12 ? kFromHopper : kUpToAda;
  asked.gpu = sum_blocks_of(gpu->multiprocessors, gpu->compute_capability);
  asked.version = version_of(row.field("liger_version"));
  return asked;
}

std::optional<double> OperatorOutcome::error() const {
  if (!predicted) return std::nullopt;
  const double published = *row->value * static_cast<double>(kMiB.count);
  return (static_cast<double>(predicted->count) - published) / published;
}

std::vector<OperatorOutcome> judge_operators(const std::vector<PublishedRow>& rows, const RowLexicon& lexicon) {
  std::vector<OperatorOutcome> outcomes;
  for (const PublishedRow& row : rows) {
    if (row.table != PublishedTable::kOperators) continue;
    OperatorOutcome& outcome = outcomes.emplace_back();
    outcome.row = &row;
    const auto bytes = predict_row(row, lexicon);
    if (bytes) outcome.predicted = *bytes;
    if (!bytes) outcome.refusal = bytes.error().what;
  }
  return outcomes;
}

std::vector<OperatorGroup> summarize_operators(const std::vector<OperatorOutcome>& outcomes) {
  OperatorGroup all;
  std::map<std::string, OperatorGroup, std::less<>> groups;
  const auto count = [](OperatorGroup& group, const std::optional<double>& error) {
    ++group.rows;
    if (!error) return;
    ++group.stated;
    if (std::abs(*error) <= kOperatorTolerance) ++group.met;
    group.worst = std::max(group.worst, std::abs(*error));
  };
  for (const OperatorOutcome& outcome : outcomes) {
    const std::string kernel(outcome.row->field("kernel_name"));
    groups[kernel].kernel = kernel;
    count(groups[kernel], outcome.error());
    count(all, outcome.error());
  }
  std::vector<OperatorGroup> summary{all};
  for (auto& [name, group] : groups) summary.push_back(group);
  return summary;
}

}  // namespace plimsoll
