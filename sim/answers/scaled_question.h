#pragma once

#include <cstdint>
#include <string_view>

#include "sim/answers/question.h"

namespace plimsoll {

/// What of a training grows until it fits no more.
enum class Extent : std::uint8_t {
  kLayers,    ///< blocks of the model, at its width
  kWidth,     ///< heads, each as wide as they are, and the stream and feed-forward layer with them
  kBatch,     ///< sequences of a micro-batch
  kSequence,  ///< tokens of a sequence, in steps of kSequenceStep; learnt positions grow with it
};

inline constexpr std::int64_t kSequenceStep = 64;

/// The question with that extent at `value` (of sequences: times kSequenceStep). Fails where the model cannot grow so.
Result<Question> question_at(const Question& question, Extent extent, std::int64_t value);

/// What an extent counts, in the words of a table: "layers", "heads", "sequences", "tokens".
std::string_view unit_of(Extent extent);
/// `value` in that unit.
std::int64_t in_units(Extent extent, std::int64_t value);

Result<Extent> parse_extent(std::string_view text);

}  // namespace plimsoll
