#include "executor/data/record_batches.h"

#include <algorithm>

#include "executor/data/hide_tokens.h"
#include "executor/data/record_order.h"
#include "executor/data/row_key.h"

namespace plimsoll {

Result<void> RecordBatches::check(const ModelSpec& spec, const Recipe&) const {
  if (spec.pads() && spec.head == spec_.head && spec.outputs() == spec_.outputs()) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "these records are for a model of another head",
               .where = spec.name,
               .remedy = {}});
}

void write_record(const TokenRecord& record, std::int64_t row, std::int64_t sequence, std::span<std::int32_t> tokens,
                  std::span<std::int32_t> extents) {
  const auto width = static_cast<std::size_t>(sequence + 1), at = static_cast<std::size_t>(row);
  const auto of_row = tokens.subspan(at * width, width);
  std::fill(std::copy(record.tokens.begin(), record.tokens.end(), of_row.begin()), of_row.end(), 0);
  extents[2 * at] = static_cast<std::int32_t>(record.tokens.size());
  extents[2 * at + 1] = static_cast<std::int32_t>(record.second);
}

void RecordBatches::fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const {
  const auto tokens = part_as<std::int32_t>(parts[0]), extents = part_as<std::int32_t>(parts[1]);
  const auto labels = part_as<std::int32_t>(parts[2]);
  for (std::int64_t row = 0; row < recipe.micro_batch; ++row) {
    const TokenRecord record = records_.read(record_of_row(place, recipe.micro_batch, row, records_.size()));
    write_record(record, row, recipe.sequence, tokens, extents);
    const auto at = static_cast<std::size_t>(row), width = static_cast<std::size_t>(recipe.sequence);
    if (spec_.head == HeadKind::kClass) {
      labels[at] = static_cast<std::int32_t>(record.label);
      continue;
    }
    const auto of_row = labels.subspan(at * width, width);
    std::fill(of_row.begin(), of_row.end(), -1);
    hide_tokens(random_at(row_key(place, row), kHidingStream), spec_, tokens.subspan(at * (width + 1), record.tokens.size()),
                of_row.first(record.tokens.size()));
  }
}

}  // namespace plimsoll
