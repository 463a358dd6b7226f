#include "cli/print/print_inference_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

std::string limit_of(const InferenceOutcome& outcome) {
  return outcome.answer ? outcome.answer->time.queues.front().name : std::string();
}

void print_lines(const std::vector<InferenceOutcome>& outcomes) {
  fmt::print("\n{:<26}{:<10}{:>7}{:>7}{:>11}{:>11}{:>9}  {}\n", "inference", "model", "prompt", "batch", "published", "predicted",
             "error", "limited by");
  for (const InferenceOutcome& outcome : outcomes) {
    const PublishedRow& row = *outcome.row;
    fmt::print("{:<26}{:<10}{:>7}{:>7}{:>11}", row.field("system"), row.field("model"), row.field("prompt"), row.field("batch"),
               row.field("value"));
    if (!outcome.answer) fmt::print("  not compared: {}\n", outcome.refusal);
    if (!outcome.answer) continue;
    fmt::print("{:>11.3f}{:>+7.1f} %  {}{}\n", outcome.answer->tokens_per_second(), 100 * *outcome.error(), limit_of(outcome),
               row.field("percent").empty() ? "; policy not told, searched" : "");
  }
}

void print_table(const std::vector<InferenceOutcome>& outcomes) {
  fmt::print(
      "place,system,model,prompt,new_tokens,batch,published_tokens_per_second,predicted_tokens_per_second,error,limit,refusal\n");
  for (const InferenceOutcome& outcome : outcomes) {
    const PublishedRow& row = *outcome.row;
    fmt::print("{},{},{},{},{},{},{},{},{},{},{}\n", row.place, csv_field(row.field("system")),
               csv_field(row.field("model")), row.field("prompt"), row.field("new_tokens"), row.field("batch"),
               row.field("value"), outcome.answer ? fmt::format("{:.5g}", outcome.answer->tokens_per_second()) : "",
               outcome.error() ? fmt::format("{:.6f}", *outcome.error()) : "", limit_of(outcome),
               csv_field(outcome.refusal));
  }
}

Json row_json(const InferenceOutcome& outcome) {
  const PublishedRow& row = *outcome.row;
  Json json{{"place", row.place},
            {"system", row.field("system")},
            {"model", row.field("model")},
            {"published_tokens_per_second", *row.value},
            {"predicted_tokens_per_second", nullptr},
            {"error", nullptr},
            {"open", row.field("open")},
            {"refusal", outcome.refusal}};
  if (!outcome.answer) return json;
  json["predicted_tokens_per_second"] = outcome.answer->tokens_per_second();
  json["error"] = *outcome.error();
  json["policy"] = to_text(outcome.answer->policy);
  json["limit"] = limit_of(outcome);
  return json;
}

}  // namespace

void print_inference_rows(const std::vector<InferenceOutcome>& outcomes, bool json, bool csv) {
  if (csv) return print_table(outcomes);
  if (!json) return print_lines(outcomes);
  Json all{{"format_version", 1}, {"rows", outcomes.size()}, {"inference", Json::array()}};
  for (const InferenceOutcome& outcome : outcomes) all["inference"].push_back(row_json(outcome));
  fmt::print("{}\n", all.dump());
}

}  // namespace plimsoll
