#include "cli/print/print_operators.h"
#include "formats/text/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

std::vector<const OperatorOutcome*> worst_of(const std::vector<OperatorOutcome>& outcomes, std::size_t count) {
  std::vector<const OperatorOutcome*> missed;
  for (const OperatorOutcome& outcome : outcomes) {
    const auto error = outcome.error();
    if (error && std::abs(*error) > kOperatorTolerance) missed.push_back(&outcome);
  }
  std::stable_sort(missed.begin(), missed.end(), [](const OperatorOutcome* a, const OperatorOutcome* b) {
    return std::abs(*a->error()) > std::abs(*b->error());
  });
  missed.resize(std::min(count, missed.size()));
  return missed;
}

double predicted_mib(const OperatorOutcome& outcome) {
  return static_cast<double>(outcome.predicted->count) / static_cast<double>(kMiB.count);
}

std::string name_of(const OperatorOutcome& outcome) {
  const PublishedRow& row = *outcome.row;
  return fmt::format("{}/{} {} {}={}", row.field("kernel_name"), row.field("kernel_provider"),
                     row.field("kernel_operation_mode"), row.field("x_name"), row.field("x_value"));
}

std::map<std::string, int> reasons_of(const std::vector<OperatorOutcome>& outcomes) {
  std::map<std::string, int> reasons;
  for (const OperatorOutcome& outcome : outcomes) {
    if (!outcome.predicted) ++reasons[outcome.refusal];
  }
  return reasons;
}

}  // namespace

void print_operators(const std::vector<OperatorOutcome>& outcomes, std::size_t worst) {
  fmt::print("\n{:<34} {:>5} {:>6} {:>13} {:>8}\n", "operator", "rows", "stated", "within 0.5 %", "worst");
  for (const OperatorGroup& group : summarize_operators(outcomes)) {
    fmt::print("{:<34} {:>5} {:>6} {:>13} {:>6.1f} %\n", group.kernel.empty() ? "all" : group.kernel, group.rows,
               group.stated, group.met, 100 * group.worst);
  }
  const auto missed = worst_of(outcomes, worst);
  if (!missed.empty()) fmt::print("\nworst operators (predicted, published, error):\n");
  for (const OperatorOutcome* outcome : missed) {
    fmt::print("  {:>10.2f} MiB {:>10.2f} MiB {:>7.1f} %  {}, {} ({})\n", predicted_mib(*outcome), *outcome->row->value,
               100 * *outcome->error(), name_of(*outcome), outcome->row->field("gpu_name"), outcome->row->place);
  }
  for (const auto& [reason, count] : reasons_of(outcomes))
    fmt::print("{:>6}  operators not compared: {}\n", count, reason);
}

void print_operators_markdown(const std::vector<OperatorOutcome>& outcomes) {
  auto groups = summarize_operators(outcomes);
  const OperatorGroup all = groups.front();
  groups.erase(groups.begin());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const OperatorGroup& a, const OperatorGroup& b) { return a.rows - a.met > b.rows - b.met; });
  fmt::print(
      "\n## Operators\n\nOf {} published benchmarks of single operators {} can be stated, {} of these are met within "
      "0.5 %.\n\n",
      all.rows, all.stated, all.met);
  fmt::print("| operator | rows | stated | within 0.5 % | worst |\n|---|---:|---:|---:|---:|\n");
  for (const OperatorGroup& group : groups) {
    fmt::print("| {} | {} | {} | {} | {:.1f} % |\n", group.kernel, group.rows, group.stated, group.met,
               100 * group.worst);
  }
}

void print_operators_csv(const std::vector<OperatorOutcome>& outcomes) {
  fmt::print(
      "place,kernel_name,kernel_provider,kernel_operation_mode,x_name,x_value,gpu_name,published_mib,predicted_mib,"
      "error,refusal\n");
  for (const OperatorOutcome& outcome : outcomes) {
    const PublishedRow& row = *outcome.row;
    fmt::print("{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(row.place), csv_field(row.field("kernel_name")),
               csv_field(row.field("kernel_provider")), csv_field(row.field("kernel_operation_mode")),
               csv_field(row.field("x_name")), csv_field(row.field("x_value")), csv_field(row.field("gpu_name")),
               csv_field(row.field("y_value_50")),
               outcome.predicted ? fmt::format("{:.4f}", predicted_mib(outcome)) : "",
               outcome.error() ? fmt::format("{:.6f}", *outcome.error()) : "", csv_field(outcome.refusal));
  }
}

Json operators_json(const std::vector<OperatorOutcome>& outcomes, std::size_t worst) {
  Json json{{"tolerance", kOperatorTolerance},
            {"groups", Json::array()},
            {"worst", Json::array()},
            {"reasons", Json::array()}};
  for (const OperatorGroup& group : summarize_operators(outcomes)) {
    json["groups"].push_back({{"operator", group.kernel.empty() ? "all" : group.kernel},
                              {"rows", group.rows},
                              {"stated", group.stated},
                              {"within_tolerance", group.met},
                              {"worst", group.worst}});
  }
  for (const OperatorOutcome* outcome : worst_of(outcomes, worst)) {
    json["worst"].push_back({{"place", outcome->row->place},
                             {"row", name_of(*outcome)},
                             {"published_mib", *outcome->row->value},
                             {"predicted_mib", predicted_mib(*outcome)},
                             {"error", *outcome->error()}});
  }
  for (const auto& [reason, count] : reasons_of(outcomes))
    json["reasons"].push_back({{"reason", reason}, {"rows", count}});
  return json;
}

}  // namespace plimsoll
