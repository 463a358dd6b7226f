#include "tests/gpu/finding.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace plimsoll::gpu {
namespace {

using Json = nlohmann::ordered_json;
constexpr Verdict kVerdicts[] = {Verdict::kPassed, Verdict::kMissed, Verdict::kBroken, Verdict::kSkipped};

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// JSON has no infinities: what is none becomes null, which reads as a NaN again.
Json json_of(const Finding& f) {
  Json json{{"name", f.name}, {"bound", f.bound}, {"result", to_text(f.verdict)}, {"value", f.value}, {"note", f.note},
            {"seconds", f.seconds}};
  for (const auto& [name, number] : f.numbers) json["numbers"][name] = number;
  return json;
}

double number_in(const Json& json) { return json.is_number() ? json.get<double>() : NAN; }

}  // namespace

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed: return "passed";
    case Verdict::kMissed: return "MISSED";
    case Verdict::kBroken: return "BROKEN";
    case Verdict::kSkipped: return "skipped";
  }
  return "";
}

std::string write_finding(const Finding& finding) { return text_of(json_of(finding), -1); }

std::optional<Finding> read_finding(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("name") || !json.contains("result")) return std::nullopt;
  Finding finding{.name = json["name"], .bound = json.value("bound", ""), .note = json.value("note", "")};
  for (const Verdict verdict : kVerdicts) {
    if (json["result"] == to_text(verdict)) finding.verdict = verdict;
  }
  if (json.contains("value")) finding.value = number_in(json["value"]);
  if (json.contains("seconds")) finding.seconds = number_in(json["seconds"]);
  if (json.contains("numbers")) {
    for (const auto& [name, number] : json["numbers"].items()) finding.numbers.emplace_back(name, number_in(number));
  }
  return finding;
}

std::string write_findings(const Conditions& conditions, const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back(json_of(finding));
  return text_of({{"format_version", 1},
                  {"device", conditions.device},
                  {"machine", conditions.machine},
                  {"date", conditions.date},
                  {"command", conditions.command},
                  {"checks", list}},
                 1) + '\n';
}

std::string row_of(const Finding& f) {
  return fmt::format("{:8} {:64} {:12.6g} {} [{:.1f} s]", to_text(f.verdict), f.name, f.value, f.note, f.seconds);
}

}  // namespace plimsoll::gpu
