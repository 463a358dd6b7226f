#include "sim/validation/state_ladder.h"

#include <fmt/format.h>

#include "formats/published/embedded_published.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kHalf = 2;  // bytes of a checkpoint's weight

const std::vector<std::string_view> kKeys{"family", "growth",       "before", "layers", "experts",
                                          "hidden", "expert_width", "fused",  "dense",  "rows"};

/// Reads the rules' facts of one row and keeps the first complaint.
class RungReader {
 public:
  RungReader(const PublishedRow& row, const RowReading& reading) : row_(row), reading_(reading) {}

  std::int64_t whole(std::string_view key) {
    const auto number = parse_number(reading_.fact(key));
    if (number && *number >= 0 && *number < 1e12) return static_cast<std::int64_t>(*number);
    complain(fmt::format("'{}' is not told", key));
    return 0;
  }

  /// "50304x2048 2048x2048": tensors of two-byte weights.
  std::vector<Bytes> tensors(std::string_view text) {
    std::vector<Bytes> sizes;
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(word.size() + 1, text.size()));
      const auto rows = parse_number(word.substr(0, word.find('x')));
      const auto columns = parse_number(word.substr(std::min(word.find('x'), word.size() - 1) + 1));
      if (!rows || !columns || *rows < 1 || *columns < 1) {
        complain(fmt::format("'{}' is no shape of a tensor", word));
        break;
      }
      sizes.emplace_back(static_cast<std::int64_t>(*rows * *columns) * kHalf);
    }
    return sizes;
  }

  void complain(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }

  Result<void> end() const {
    if (fault_.empty()) return {};
    return fail({.kind = ErrorKind::kInput,
                 .what = fault_,
                 .where = row_.place,
                 .remedy = "data/published/ladder_rules.csv says how rungs are read"});
  }

 private:
  const PublishedRow& row_;
  const RowReading& reading_;
  std::string fault_;
};

WaitingExperts waiting_of(RungReader& reader, const RowReading& reading) {
  return {.layers = reader.whole("layers"),
          .experts = reader.whole("experts"),
          .hidden = reader.whole("hidden"),
          .width = reader.whole("expert_width"),
          .fused = reading.fact("fused") == "true",
          .rows = reader.whole("rows"),
          .dense = reader.tensors(reading.fact("dense"))};
}

}  // namespace

Result<std::vector<ReadingRule>> shipped_ladder_rules() {
  constexpr std::string_view kName = "data/published/ladder_rules.csv";
  return read_reading_rules(embedded_published(kName), std::string(kName), kKeys);
}

bool is_rung(const PublishedRow& row, const std::vector<ReadingRule>& rules) {
  return !apply_rules(rules, row).fact("family").empty();
}

Result<LadderRung> state_rung(const PublishedRow& row, const std::vector<ReadingRule>& rules) {
  const RowReading reading = apply_rules(rules, row);
  RungReader reader(row, reading);
  LadderRung rung{
      .family = std::string(reading.fact("family")),
      .ladder = fmt::format("{}, {}{}", row.field("system"), row.field("model"),
                            reading.fact("rows") == "0" ? "" : fmt::format(", {} rows", reading.fact("rows"))),
      .waiting = waiting_of(reader, reading),
      .program = Bytes((reader.whole("before") + reader.whole("growth")) * kMega),
      .cap = {},
      .ran = row.field("metric") == "fits"};
  if (row.field("metric") != "fits" && row.field("metric") != "oom")
    reader.complain(fmt::format("'{}' is no verdict", row.field("metric")));
  if (!row.value || *row.value <= 0) reader.complain("the cap is no number");
  if (row.value) rung.cap = kMiB * static_cast<std::int64_t>(*row.value);
  if (const auto sound = reader.end(); !sound) return fail(sound.error());
  return rung;
}

}  // namespace plimsoll
