#include "formats/published/stored_accuracy.h"

#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"

namespace plimsoll {

Result<StoredAccuracy> read_stored_accuracy(std::string_view text, std::string where) {
  const auto json = parse_json(text, where);
  if (!json) return fail(json.error());
  JsonFault fault{.where = std::move(where), .error = {}};
  const JsonNode root(*json, "", fault);
  const JsonNode summary = root.at("summary");
  const JsonNode valid = summary.at("valid");
  StoredAccuracy accuracy{.machine = root.at("machine").text(),
                          .date = root.at("date").text(),
                          .command = root.at("command").text(),
                          .valid = valid.at("attempts").integer(0, kMaxInt32),
                          .attempts = summary.at("all").at("attempts").integer(0, kMaxInt32),
                          .median = valid.at("median_error").number(),
                          .worst = valid.at("worst_error").number(),
                          .bias = valid.at("bias").number(),
                          .noise = summary.at("noise_floor").number(),
                          .by_plan = {}};
  const JsonNode plans = summary.at("median_error_by_plan");
  if (plans.is_object()) {
    for (const auto& [plan, error] : json->at("summary").at("median_error_by_plan").items()) {
      accuracy.by_plan.emplace_back(plan, plans.at(plan).number());
    }
  }
  if (fault.error) return fail(*fault.error);
  return accuracy;
}

}  // namespace plimsoll
