#include "cli/print/print_ladders.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

std::string cap_text(const std::optional<Bytes>& cap) { return cap ? fmt::format("{}", cap->count / kMiB.count) : "-"; }

std::string off_text(const LadderOutcome& ladder) {
  return ladder.off() == 0 ? "inside" : fmt::format("{:+.1f} %", 100 * ladder.off());
}

std::int64_t mib(Bytes bytes) { return bytes.count / kMiB.count; }

Json cap_json(const std::optional<Bytes>& cap) { return cap ? Json(cap->count) : Json(); }

std::ptrdiff_t inside(const std::vector<LadderOutcome>& ladders) {
  return std::count_if(ladders.begin(), ladders.end(), [](const LadderOutcome& ladder) { return ladder.off() == 0; });
}

}  // namespace

void print_ladders(const LadderReport& report) {
  if (!report.ladders.empty()) {
    fmt::print("\n{:<72} {:>8} {:>9} {:>8} {:>8} {:>7}\n", "host-RAM ladders, MiB", "killed", "predicted", "ran", "",
               "rungs");
  }
  for (const LadderOutcome& ladder : report.ladders) {
    fmt::print("{:<72} {:>8} {:>9} {:>8} {:>8} {:>3} of {}\n", ladder.ladder, cap_text(ladder.failed), mib(ladder.need),
               cap_text(ladder.ran), off_text(ladder), ladder.right, ladder.rungs);
  }
  for (const std::string& refusal : report.refusals) fmt::print("rung not read: {}\n", refusal);
}

void print_ladders_csv(const LadderReport& report) {
  fmt::print("place,family,ladder,killed_bytes,predicted_bytes,ran_bytes,off,rungs,right\n");
  for (const LadderOutcome& ladder : report.ladders) {
    const auto cap = [](const std::optional<Bytes>& bytes) {
      return bytes ? fmt::format("{}", bytes->count) : std::string();
    };
    fmt::print("{},{},{},{},{},{},{:.5f},{},{}\n", csv_field(ladder.place), csv_field(ladder.family),
               csv_field(ladder.ladder), cap(ladder.failed), ladder.need.count, cap(ladder.ran), ladder.off(),
               ladder.rungs, ladder.right);
  }
}

Json ladders_json(const LadderReport& report) {
  Json all{{"ladders", report.ladders.size()},
           {"inside", inside(report.ladders)},
           {"rows", Json::array()},
           {"refusals", report.refusals}};
  for (const LadderOutcome& ladder : report.ladders) {
    all["rows"].push_back({{"place", ladder.place},
                           {"family", ladder.family},
                           {"ladder", ladder.ladder},
                           {"killed_bytes", cap_json(ladder.failed)},
                           {"predicted_bytes", ladder.need.count},
                           {"ran_bytes", cap_json(ladder.ran)},
                           {"off", ladder.off()},
                           {"rungs", ladder.rungs},
                           {"right", ladder.right}});
  }
  return all;
}

std::string ladders_markdown(const std::vector<LadderOutcome>& ladders) {
  if (ladders.empty()) return {};
  std::string text = fmt::format(
      "\n## Host-RAM ladders\n\nRuns that differ in their cap on host RAM alone; {} of {} predicted needs lie between "
      "the largest cap under\n"
      "which a run was killed and the smallest under which it ran (MiB).\n\n"
      "| ladder | killed | predicted | ran | | rungs told right |\n|---|---:|---:|---:|---|---:|\n",
      inside(ladders), ladders.size());
  for (const LadderOutcome& ladder : ladders) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} of {} |\n", ladder.ladder, cap_text(ladder.failed),
                        mib(ladder.need), cap_text(ladder.ran), off_text(ladder), ladder.right, ladder.rungs);
  }
  return text;
}

}  // namespace plimsoll
