#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "executor/checkpoint/state_access.h"

namespace plimsoll {

struct DecoderOptions {
  std::int64_t threads = 1;
  std::int64_t longest = 0;  ///< tokens that the cache has room for; 0: the model's longest sequence
  MatmulLibrary matmul = MatmulLibrary::kOneDnn;
};

/// A causal language model with its weights in host memory (fp32) that reads tokens and tells what may follow.
class Decoder {
 public:
  /// Fills the weights of every group; as load_weights does with a checkpoint.
  using LoadWeights = std::function<Result<void>(const WriteState& state)>;

  /// Errors: weights and cache take more than the memory that is free, a longest sequence that the model has not, or what
  /// `load` says.
  static Result<std::unique_ptr<Decoder>> create(const ModelSpec& spec, const DecoderOptions& options, const LoadWeights& load);
  ~Decoder();

  /// Reads at least one token; returns the logits of what follows the last, valid until the next call. The same tokens give
  /// the same bits however they are divided over calls of one token each; reading several at once may round otherwise.
  /// No more tokens than `longest` in all.
  std::span<const float> read(std::span<const std::int32_t> tokens);

  /// Tokens that were read.
  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] std::int64_t longest() const;

 private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Bytes of weights and cache.
Bytes decoder_bytes(const ModelSpec& spec, std::int64_t longest);

}  // namespace plimsoll
