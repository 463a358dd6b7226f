#include "sim/stack/sequence_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "core/base/mix64.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;

std::optional<std::int64_t> tokens_in(std::string_view text) {
  std::int64_t tokens = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
  if (error != std::errc{} || end != text.data() + text.size() || tokens < 1 || tokens > kMostTokens) return std::nullopt;
  return tokens;
}

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

tl::unexpected<Error> bad(std::string what, std::string where = "--lengths") {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where),
               .remedy = "write a range as 91..2048, or name a file with one sequence's tokens a line"});
}

}  // namespace

Result<SequenceLengths> parse_length_range(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) return bad(fmt::format("'{}' is no range of lengths", text));
  const auto shortest = tokens_in(text.substr(0, dots)), longest = tokens_in(text.substr(dots + 2));
  if (!shortest || !longest || *shortest > *longest) return bad(fmt::format("'{}' is no range of lengths", text));
  return SequenceLengths{.seen = {}, .shortest = *shortest, .longest = *longest};
}

Result<SequenceLengths> read_lengths(std::string_view lines, const std::string& where) {
  SequenceLengths lengths;
  std::int64_t number = 0;
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = without_blanks(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    if (line.empty()) continue;
    const auto tokens = tokens_in(line);
    if (!tokens) return bad(fmt::format("line {} holds '{}', which is no number of tokens", number, line.substr(0, 40)), where);
    lengths.seen.push_back(*tokens);
  }
  if (lengths.seen.empty()) return bad("no length is there", where);
  return lengths;
}

std::uint64_t LengthDraws::below(std::uint64_t bound) {
  const std::uint64_t word = mix64(state_);
  state_ += kSplitMixStep;
  return word % bound;
}

double mean_length(const SequenceLengths& lengths, std::int64_t cut) {
  if (!lengths.vary()) return 0;
  if (lengths.seen.empty()) {  // whole ones from `shortest` to the last that is not cut, then cut ones
    const std::int64_t first = std::min(lengths.shortest, cut), last = std::min(lengths.longest, cut);
    const auto whole = static_cast<double>(last - first + 1), cut_ones = static_cast<double>(lengths.longest - lengths.shortest) + 1 - whole;
    return (whole * static_cast<double>(first + last) / 2 + cut_ones * static_cast<double>(cut)) / (whole + cut_ones);
  }
  double sum = 0;
  for (const std::int64_t length : lengths.seen) sum += static_cast<double>(std::min(length, cut));
  return sum / static_cast<double>(lengths.seen.size());
}

double length_around_a_token(const SequenceLengths& lengths) {
  double sum = 0, squares = 0;
  for (const std::int64_t length : lengths.seen) {
    const auto tokens = static_cast<double>(length);
    sum += tokens;
    squares += tokens * tokens;
  }
  if (lengths.seen.empty()) {  // 1 + 2 + … + n and 1 + 4 + … + n², of both ends
    const auto end = static_cast<double>(lengths.longest), before = static_cast<double>(std::max<std::int64_t>(lengths.shortest, 1) - 1);
    sum = (end * (end + 1) - before * (before + 1)) / 2;
    squares = (end * (end + 1) * (2 * end + 1) - before * (before + 1) * (2 * before + 1)) / 6;
  }
  return sum > 0 ? squares / sum : 0;
}

std::int64_t LengthDraws::next() {
  std::int64_t longest = 1;
  for (std::int64_t i = 0; i < micro_batch_; ++i) {
    const std::int64_t drawn =
        lengths_.seen.empty()
            ? lengths_.shortest + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(lengths_.longest - lengths_.shortest + 1)))
            : lengths_.seen[below(lengths_.seen.size())];
    longest = std::max(longest, drawn);
  }
  return std::min(longest, cut_);
}

}  // namespace plimsoll
