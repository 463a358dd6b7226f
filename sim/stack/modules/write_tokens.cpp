#include <utility>

#include "sim/stack/modules/transformer.h"

namespace plimsoll {

/// Keys and values of every block for that many tokens; each is joined anew with what comes, while what it was is still there.
void Transformer::grow_cache(Tensors& cache, std::int64_t tokens, DType type) {
  const std::int64_t heads = spec_.latent.exists() ? spec_.heads : spec_.kv_heads;
  for (Tensor& held : cache) {
    Tensor longer = tape_.empty({recipe_.micro_batch, heads, tokens, spec_.head_dim}, type);
    held = std::move(longer);
  }
}

/// All prompts at once, then token by token, of which only the last is told: by then the cache is at its longest. The head sees last tokens
/// alone; a draw from its logits takes them in fp32, and their probabilities.
void Transformer::write(std::optional<DType> autocast, std::int64_t tokens) {
  at("generate");
  tape_.without_grad([&] {
    tape_.with_autocast(autocast, [&] {
      Tensors cache(2 * blocks_.size());
      const std::int64_t prompt = this->tokens();
      Tensor x = embed();
      const BlockContext context = context_of(x.dtype);
      for (std::size_t i = 0; i < blocks_.size(); ++i) {
        x = run_block(i, x, context);
        Tensors own(2);
        grow_cache(own, prompt, autocast.value_or(x.dtype));
        std::move(own.begin(), own.end(), cache.begin() + 2 * static_cast<std::ptrdiff_t>(i));
      }
      const DType type = autocast.value_or(x.dtype);
      x = {};
      at("generate");
      grow_cache(cache, prompt + tokens - 1, type);
      grow_cache(cache, prompt + tokens, type);
      const Tensor logits = tape_.empty({recipe_.micro_batch, spec_.outputs()}, type);
      const Tensor wide = tape_.empty(logits.shape, DType::kFp32), probabilities = tape_.empty(logits.shape, DType::kFp32);
    });
  });
}

}  // namespace plimsoll
