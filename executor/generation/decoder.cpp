#include "executor/generation/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "executor/generation/forward_pass.h"
#include "executor/kernels/blas_room.h"
#include "executor/kernels/matrix_product.h"
#include "formats/machines/available_memory.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kChunk = 64;  // tokens of a prompt that are read at once

std::int64_t longest_of(const ModelSpec& spec, const DecoderOptions& options) {
  return options.longest == 0 ? spec.longest_sequence() : options.longest;
}

Result<void> check(const ModelSpec& spec, const DecoderOptions& options) {
  if (auto valid = validate(spec); !valid) return valid;
  if (spec.head != HeadKind::kNextToken) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "an encoder does not write: it finds hidden tokens or classes",
                 .where = spec.name,
                 .remedy = {}});
  }
  if (spec.has_encoder_and_decoder()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "a decoder behind an encoder is trained here, but does not write",
                 .where = spec.name,
                 .remedy = "choose a decoder alone"});
  }
  const std::int64_t longest = longest_of(spec, options);
  if (longest < 1 || longest > spec.longest_sequence()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} tokens do not fit the model's {}", longest, spec.longest_sequence()),
                 .where = spec.name,
                 .remedy = "generate fewer, or shorten the prompt"});
  }
  const Bytes need = decoder_bytes(spec, longest);
  const Bytes free = available_memory().bytes;
  if (need <= free)
    return options.matmul == MatmulLibrary::kOpenBlas ? check_blas_room(options.threads) : Result<void>{};
  return fail({.kind = ErrorKind::kInfeasible,
               .what = fmt::format("weights and key-value cache take {}, free are {}", to_text(need), to_text(free)),
               .where = spec.name,
               .remedy = "generate with fewer tokens, or close other programs"});
}

}  // namespace

struct Decoder::Impl {
  Impl(const ModelSpec& model, const DecoderOptions& options)
      : spec(model),
        longest(longest_of(model, options)),
        pool(options.threads),
        product(options.matmul),
        cache(model, longest),
        next(model, 1, true, options.threads) {
    for (const ParameterGroup& group : lay_out_parameters(model).groups) {
      stored.emplace_back(static_cast<std::size_t>(group.elements));
    }
    for (std::vector<float>& group : stored) weights.emplace_back(group);
  }

  [[nodiscard]] LaunchContext context() { return {.pool = &pool, .product = &product}; }

  /// All of `tokens` go into the cache; nobody asks what follows them.
  void skip(std::span<const std::int32_t> tokens) {
    std::optional<ForwardPass> chunk;
    while (!tokens.empty()) {
      const std::size_t size = std::min<std::size_t>(tokens.size(), kChunk);
      if (!chunk || size < kChunk) chunk.emplace(spec, static_cast<std::int64_t>(size), false, pool.workers());
      chunk->run(tokens.first(size), weights, cache, context());
      tokens = tokens.subspan(size);
    }
  }

  ModelSpec spec;
  std::int64_t longest;
  std::vector<std::vector<float>> stored;
  GroupWeights weights;
  WorkerPool pool;
  MatrixProduct product;
  KeyValueCache cache;
  ForwardPass next;
};

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::~Decoder() = default;

Result<std::unique_ptr<Decoder>> Decoder::create(const ModelSpec& spec, const DecoderOptions& options, const LoadWeights& load) {
  if (auto possible = check(spec, options); !possible) return fail(possible.error());
  std::unique_ptr<Decoder> decoder(new Decoder(std::make_unique<Impl>(spec, options)));
  const auto loaded = load([&](TensorKind kind, GroupId group, const FillState& fill) {
    if (kind == TensorKind::kParameter) fill(std::as_writable_bytes(decoder->impl_->weights[group.index]));
  });
  if (!loaded) return fail(loaded.error());
  return decoder;
}

std::span<const float> Decoder::read(std::span<const std::int32_t> tokens) {
  impl_->skip(tokens.first(tokens.size() - 1));
  const std::span<const float> logits = impl_->next.run(tokens.last(1), impl_->weights, impl_->cache, impl_->context());
  return logits.first(static_cast<std::size_t>(impl_->spec.vocabulary));
}

std::int64_t Decoder::tokens() const { return impl_->cache.tokens; }
std::int64_t Decoder::longest() const { return impl_->longest; }

Bytes decoder_bytes(const ModelSpec& spec, std::int64_t longest) {
  const std::int64_t cached = 2 * spec.layers * spec.kv_heads * spec.head_dim * longest;
  return Bytes((parameter_count(spec) + cached) * size_of(DType::kFp32));
}

}  // namespace plimsoll
