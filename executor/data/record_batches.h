#pragma once

#include "executor/data/batch_source.h"
#include "executor/data/token_records.h"

namespace plimsoll {

/// Batches of records, each padded with token 0 to the batch's width: for models that tell classes apart, or that find what was
/// hidden.
class RecordBatches final : public BatchSource {
 public:
  RecordBatches(TokenRecords records, ModelSpec spec) : records_(std::move(records)), spec_(std::move(spec)) {}

  [[nodiscard]] Result<void> check(const ModelSpec& spec, const Recipe& recipe) const override;
  void fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const override;

 private:
  TokenRecords records_;
  ModelSpec spec_;
};

/// Writes one record's tokens and extents as row `row` of a batch.
void write_record(const TokenRecord& record, std::int64_t row, std::int64_t sequence, std::span<std::int32_t> tokens,
                  std::span<std::int32_t> extents);

}  // namespace plimsoll
