#include "sim/stack/megatron/megatron_layers.h"

namespace plimsoll {
Tensor bias_dropout_add(Tape& tape, const Tensor& x, Parameter* bias_of, const Tensor& residual, double share) {
  const Tensor bias = bias_of != nullptr ? bias_of->use() : Tensor{};
  Tensor out = tape.empty(residual.shape, residual.dtype);
  const Tensor mask = share > 0 ? tape.empty(x.shape, kMaskType) : Tensor{};
  tape.stream(3 * traffic(x) + (mask ? traffic(mask) : 0), x.dtype);
  return tape.record(std::move(out), {&x, &residual, &bias}, [mask, shape = x.shape, type = x.dtype, width = bias ? bias.elements() : 0](
                                                                Tape& t, Tensors gradients) {
    Tensors results(3);
    results[0] = mask ? t.empty(shape, type) : gradients[0];
    t.stream(2 * traffic(gradients[0]), type);
    results[1] = gradients[0];
    if (width > 0) results[2] = t.empty({width}, type);
    return results;
  });
}

Tensor fused_activation(Tape& tape, const Tensor& x, std::int64_t width) {
  Tensor out = tape.empty({x.shape[0], width}, x.dtype);
  tape.stream(traffic(x) + traffic(out), x.dtype);
  return tape.record(std::move(out), {&x}, [saved = x.detached()](Tape& t, Tensors gradients) {
    Tensors results;
    results.push_back(t.empty(saved.shape, saved.dtype));
    t.stream(2 * traffic(saved) + traffic(gradients[0]), saved.dtype);
    return results;
  });
}

Tensor parallel_cross_entropy(Tape& tape, const Tensor& logits) {
  const std::int64_t rows = logits.shape[0];
  Tensor exponentials = tape.empty(logits.shape, DType::kFp32);
  tape.stream(traffic(logits) + 3 * traffic(exponentials), DType::kFp32);
  const Tensor targets = tape.empty({rows}, kIndexType);
  const Tensor hidden = tape.empty({rows}, kMaskType);
  Tensor loss = tape.empty({rows}, DType::kFp32);
  return tape.record(std::move(loss), {&logits}, [exponentials, targets, hidden, type = logits.dtype](Tape& t, Tensors) {
    // They become the gradient in place, and then one in the logits' type.
    Tensors results;
    results.push_back(t.empty(exponentials.shape, type));
    t.stream(2 * traffic(exponentials) + traffic(results[0]), type);
    return results;
  });
}

}  // namespace plimsoll
