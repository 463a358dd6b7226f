#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// How long the sequences of a data set are, in tokens. Of neither a list nor a range all are as long as the recipe says.
struct SequenceLengths {
  std::vector<std::int64_t> seen;  ///< of a data set, one a sequence
  std::int64_t shortest = 0;       ///< of a range from which all lengths are drawn alike
  std::int64_t longest = 0;

  [[nodiscard]] bool vary() const { return longest > 0 || !seen.empty(); }
  bool operator==(const SequenceLengths&) const = default;
};

/// "91..2048", or a number a line: one sequence's tokens each.
Result<SequenceLengths> parse_length_range(std::string_view text);
/// `where` names the lines in errors.
Result<SequenceLengths> read_lengths(std::string_view lines, const std::string& where);

/// Tokens of a sequence on average, none of which is longer than `cut`. 0 where lengths do not vary.
double mean_length(const SequenceLengths& lengths, std::int64_t cut);

/// How long the sequence is in which an average token stands: the mean of squares over the mean. A causal token of packed sequences sees half as
/// many. 0 where lengths do not vary.
double length_around_a_token(const SequenceLengths& lengths);

/// The lengths of micro-batches in an order that is always the same: each is padded to the longest of the sequences drawn for it,
/// and none is longer than `cut`.
class LengthDraws {
 public:
  LengthDraws(const SequenceLengths& lengths, std::int64_t micro_batch, std::int64_t cut)
      : lengths_(lengths), micro_batch_(micro_batch), cut_(cut) {}

  [[nodiscard]] std::int64_t next();

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);

  const SequenceLengths& lengths_;
  std::int64_t micro_batch_;
  std::int64_t cut_;
  std::uint64_t state_ = 0;
};

}  // namespace plimsoll
