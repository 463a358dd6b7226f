#pragma once

#include <memory>

#include "executor/data/batch_source.h"
#include "executor/data/token_source.h"

namespace plimsoll {

/// Windows of a corpus in two parts, for an encoder with a decoder: the encoder reads the first, the decoder learns
/// what follows. It begins with T5's start token.
class SourceAndTarget final : public BatchSource {
 public:
  static constexpr std::int32_t kStartToken = 0;

  explicit SourceAndTarget(std::unique_ptr<TokenSource> corpus) : corpus_(std::move(corpus)) {}

  [[nodiscard]] Result<void> check(const ModelSpec& spec, const Recipe& recipe) const override;
  void fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const override;

 private:
  std::unique_ptr<TokenSource> corpus_;
};

}  // namespace plimsoll
