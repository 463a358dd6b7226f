#pragma once

#include <memory>

#include "executor/data/batch_source.h"
#include "executor/data/token_source.h"

namespace plimsoll {

/// Windows of a corpus with hidden tokens, for models that learn to find them. Every window is as long as the batch is wide.
class MaskedTokens final : public BatchSource {
 public:
  MaskedTokens(std::unique_ptr<TokenSource> corpus, ModelSpec spec) : corpus_(std::move(corpus)), spec_(std::move(spec)) {}

  [[nodiscard]] Result<void> check(const ModelSpec& spec, const Recipe& recipe) const override;
  void fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const override;

 private:
  std::unique_ptr<TokenSource> corpus_;
  ModelSpec spec_;
};

}  // namespace plimsoll
