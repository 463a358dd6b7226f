#include <algorithm>
#include <cmath>

#include "sim/stack/tape/fp8_products.h"

namespace plimsoll {
namespace {

/// What a linear layer's backward needs of its forward.
struct LinearMemory {
  Tensor x;       ///< nothing when the weight is frozen
  Tensor weight;  ///< nothing when x needs no gradient
  Shape x_shape;
  Shape weight_shape;
  bool adds_bias = false;  ///< product and bias are one operation (addmm)
  bool bias = false;       ///< its gradient is asked for
};

Tensors linear_backward(Tape& tape, const LinearMemory& memory, const Tensor& gradient) {
  const std::int64_t outputs = memory.weight_shape[0];
  const std::int64_t inputs = memory.weight_shape[1];
  const std::int64_t rows = gradient.elements() / outputs;
  Tensors results(3);
  const Tensor dy = gradient.contiguous() ? gradient : view(tape, gradient.detached(), gradient.shape);
  const auto of_input = [&] {
    if (!memory.weight) return;
    results[0] = tape.empty(memory.x_shape, dy.dtype);
    results[0].is_view = memory.x_shape.size() > 2;  // of the product of two matrices
    tape.product(1, rows, inputs, outputs, dy.dtype);
  };
  const auto of_weight = [&] {
    if (!memory.x) return;
    results[1] = tape.empty(memory.weight_shape, dy.dtype);
    results[1].is_view = true;  // of the transposed weight's gradient
    tape.turned_product(1, outputs, inputs, rows, dy.dtype);
  };
  // A product's backward begins with its second operand, one with a bias (addmm) with its first.
  if (memory.adds_bias) of_input();
  of_weight();
  if (!memory.adds_bias) of_input();
  if (memory.bias) {
    results[2] = tape.empty({outputs}, dy.dtype);
    tape.sum_rows(dy, results[2]);
  }
  return results;
}

/// [.., a, b] as a batch of matrices that a product can read: a copy where heads lie between tokens.
Tensor batched(Tape& tape, const Tensor& x) { return x.contiguous() ? x : contiguous(tape, x); }

std::int64_t batches(const Tensor& x) { return x.elements() / (x.size(-1) * x.size(-2)); }

}  // namespace

Tensor linear(Tape& tape, const Tensor& input, const Weights& weights) {
  if (weights.fp8) return fp8_linear(tape, input, weights);
  return linear(tape, input, weights.weight->use(), weights.bias != nullptr ? weights.bias->use() : Tensor{});
}

Tensor linear(Tape& tape, const Tensor& input, const Tensor& matrix, const Tensor& shift) {
  // Autocast casts an operation's inputs from the last to the first.
  const Tensor bias = shift ? tape.as_autocast(shift) : Tensor{};
  const Tensor weight = tape.as_autocast(matrix);
  const Tensor x = tape.as_autocast(input);
  const std::int64_t outputs = weight.shape[0];
  Shape shape = x.shape;
  shape.back() = outputs;
  const Tensor rows = x.contiguous() ? x : contiguous(tape, x);
  Tensor out = tape.results_of(StackKernelSort::kProduct, [&] {
    Tensors made{tape.empty(shape, x.dtype)};
    tape.product(1, x.elements() / x.size(-1), outputs, x.size(-1), x.dtype);
    if (bias) tape.bias_workspace();
    return made;
  }).front();
  LinearMemory memory{.x = weight.needs_gradient() ? rows.detached() : Tensor{},
                      .weight = rows.needs_gradient() ? weight.detached() : Tensor{},
                      .x_shape = x.shape,
                      .weight_shape = weight.shape,
                      .adds_bias = static_cast<bool>(bias),
                      .bias = bias && bias.needs_gradient()};
  if (bias) {
    // PyTorch transposes the weight after it has flattened x: the weight's gradient is handed on first.
    return tape.record(std::move(out), {&weight, &bias, &rows}, [memory = std::move(memory)](Tape& t, Tensors gradients) {
      Tensors results = linear_backward(t, memory, gradients[0]);
      std::rotate(results.begin(), results.begin() + 1, results.end());
      return results;
    });
  }
  return tape.record(std::move(out), {&rows, &weight, &bias}, [memory = std::move(memory)](Tape& t, Tensors gradients) {
    return linear_backward(t, memory, gradients[0]);
  });
}

namespace {

/// The bias of every row's group, which is added where the product lies.
void add_group_biases(Tape& tape, const Tensor& out) {
  const Tensor looked_up = tape.empty(out.shape, out.dtype);
  tape.stream(5 * traffic(out), out.dtype);
}

}  // namespace

Tensor grouped_linear(Tape& tape, const Tensor& input, const std::vector<Weights>& groups) {
  const Tensor x = tape.as_autocast(input);
  Tensors weights, biases;
  for (const Weights& own : groups) {
    weights.push_back(tape.as_autocast(own.weight->use()));
    if (own.bias != nullptr) biases.push_back(tape.as_autocast(own.bias->use()));
  }
  const auto count = static_cast<std::int64_t>(groups.size());
  const std::int64_t outputs = weights.front().shape[0], inputs = x.size(-1);
  const std::int64_t rows = x.elements() / inputs, each = (rows + count - 1) / count;
  Tensor out = tape.empty({rows, outputs}, x.dtype);
  tape.product(count, each, outputs, inputs, x.dtype);
  if (!biases.empty()) add_group_biases(tape, out);
  const bool trained = weights.front().needs_gradient();
  std::vector<const Tensor*> made_from{&x};
  for (const Tensor& weight : weights) made_from.push_back(&weight);
  for (const Tensor& bias : biases) made_from.push_back(&bias);
  const Tensor saved = trained ? x.detached() : Tensor{};
  Tensors read;
  for (const Tensor& weight : weights) read.push_back(weight.detached());
  const bool asks = x.needs_gradient();
  return tape.record(std::move(out), made_from, [=, biased = !biases.empty(), shape = x.shape](Tape& t, Tensors gradients) {
    const DType type = gradients[0].dtype;
    Tensors results(1);
    if (asks) {
      results[0] = t.empty(shape, type);
      t.product(count, each, inputs, outputs, type);
    }
    for (const Tensor& weight : read) results.push_back(saved ? t.empty(weight.shape, type) : Tensor{});
    if (saved) t.turned_product(count, outputs, inputs, each, type);
    if (!biased) return results;
    t.stream(2 * traffic(gradients[0]), type);
    for (std::int64_t i = 0; i < count; ++i) results.push_back(saved ? t.empty({outputs}, type) : Tensor{});
    return results;
  });
}

Tensor matmul(Tape& tape, const Tensor& left, const Tensor& right) {
  const Tensor second = tape.as_autocast(right), first = tape.as_autocast(left);
  const Tensor a = batched(tape, first), b = batched(tape, second);
  const std::int64_t m = a.size(-2);
  const std::int64_t k = a.size(-1);
  const std::int64_t n = b.size(-1);
  const std::int64_t batch = batches(a);
  Shape shape = a.shape;
  shape.back() = n;
  Tensor out = tape.empty(std::move(shape), a.dtype);
  tape.product(batch, m, n, k, a.dtype);
  const Tensor saved_a = b.needs_gradient() ? a.detached() : Tensor{};
  const Tensor saved_b = a.needs_gradient() ? b.detached() : Tensor{};
  return tape.record(std::move(out), {&a, &b}, [=, sa = a.shape, sb = b.shape](Tape& t, Tensors gradients) {
    const Tensor dy = gradients[0].contiguous() ? gradients[0] : contiguous(t, gradients[0].detached());
    Tensors results(2);
    if (saved_a) {
      results[1] = t.empty(sb, dy.dtype);
      t.turned_product(batch, k, n, m, dy.dtype);
    }
    if (saved_b) {
      results[0] = t.empty(sa, dy.dtype);
      t.product(batch, m, k, n, dy.dtype);
    }
    return results;
  });
}

namespace {

/// Pairs of a query and a key whose score is computed.
double pairs_of(const AttentionCall& call) {
  const auto queries = static_cast<double>(call.sequence), keys = static_cast<double>(call.keys);
  const auto seen = static_cast<double>(call.window);
  if (call.mask || !call.causal) return queries * keys;
  const double end = call.document > 0 ? std::min(call.document, keys) : keys;
  return call.window == 0 || seen >= end ? 0.5 * queries * end : queries / end * seen * (end - 0.5 * seen);
}

/// Documents that are packed are sequences of their own.
void cut_into_documents(StackKernel& kernel, double document) {
  if (document <= 0 || document >= static_cast<double>(kernel.m)) return;
  kernel.batch = std::max<std::int64_t>(1, std::llround(static_cast<double>(kernel.batch * kernel.m) / document));
  kernel.m = kernel.n = std::max<std::int64_t>(1, std::llround(document));
}

/// What is added to the scores instead of truth values: zeros and minus infinities in rows of whole 8 numbers, made anew by every
/// call (PyTorch's convert_boolean_attn_mask and pad_bias).
Tensor sum_of_mask(Tape& tape, const Tensor& mask, DType dtype) {
  Shape shape = mask.shape;
  shape.back() = (shape.back() + 7) / 8 * 8;
  Tensor bias = tape.empty(std::move(shape), dtype);
  const Tensor hidden = tape.empty(mask.shape, kMaskType);
  tape.stream(2 * traffic(mask) + 2 * traffic(bias), dtype);
  return bias;
}

/// Sequence by sequence, token by token, head by head: the memory-efficient kernel's result, whatever its queries' order is.
const std::vector<std::uint8_t> kRowsOfHeads{0, 2, 1, 3};

/// What fused attention's backward needs of its forward.
struct AttentionMemory {
  AttentionCall call;  ///< without its mask, which backward must not keep
  StackKernel kernel;
  double volume = 0;  ///< pairs that are computed, each as wide as a head
  bool flash = false;
  Tensor sums;
  Tensors inputs;   ///< query, key, value
  Tensors results;  ///< and the state of random numbers, and what was added to the scores
};

/// What FlashAttention's backward has for itself: sums of dq in fp32 where the type is narrower, rows padded to 128 and heads to 32 elements,
/// and gradients of keys and values for every head of queries, which it then sums (flash_api.cpp, mha_bwd).
Tensors flash_workspace(Tape& tape, const AttentionMemory& memory) {
  const AttentionCall& call = memory.call;
  const Tensor &query = memory.inputs[0], &key = memory.inputs[1];
  if (query.dtype == DType::kFp32) return {};
  const std::int64_t batch = query.shape[0], rows = (call.sequence + 127) / 128 * 128, columns = (call.head_dim + 31) / 32 * 32;
  Tensors made{tape.empty({batch, call.heads, rows, columns}, DType::kFp32)};
  if (key.shape[1] == call.heads) return made;
  for (int i = 0; i < 2; ++i) made.push_back(tape.empty({batch, call.heads, call.keys, call.head_dim}, key.dtype));
  return made;
}

Tensors fused_attention_backward(Tape& tape, const AttentionMemory& memory) {
  Tensors gradients(3);
  const Tensor early = memory.flash ? Tensor{} : tape.empty(memory.sums.shape, DType::kFp32);
  for (std::size_t i = 0; i < 3; ++i) {
    gradients[i] = tape.empty(memory.inputs[i].shape, memory.inputs[i].dtype);
    gradients[i].order = memory.inputs[i].order;
  }
  const Tensor late = memory.flash ? tape.empty(memory.sums.shape, DType::kFp32) : Tensor{};
  Tensors workspace = memory.flash ? flash_workspace(tape, memory) : Tensors{};
  StackKernel again = memory.kernel;
  again.backward = true;
  again.flops = 10 * memory.volume;
  again.bytes = 2.5 * memory.kernel.bytes;
  tape.launch(again);
  while (!workspace.empty()) workspace.pop_back();  // in the order in which names end
  return gradients;
}

}  // namespace

Tensor fused_attention(Tape& tape, const Tensor& query, const Tensor& key, const Tensor& value, const AttentionCall& call) {
  const Tensor v = tape.as_autocast(value);
  const Tensor k = tape.as_autocast(key);
  const Tensor q = tape.as_autocast(query);
  const std::int64_t batch = q.shape[0];
  const bool flash = call.flash && !call.mask;
  const Tensor bias = call.mask ? sum_of_mask(tape, call.mask, q.dtype) : Tensor{};
  // The memory-efficient kernel pads its sums to 32 rows.
  const std::int64_t padded = flash ? call.sequence : (call.sequence + 31) / 32 * 32;
  const double volume = static_cast<double>(batch * call.heads) * pairs_of(call) * static_cast<double>(call.head_dim);
  StackKernel kernel{.sort = StackKernelSort::kAttention,
                     .dtype = q.dtype,
                     .causal = call.causal && !call.mask,
                     .batch = batch * call.heads,
                     .m = call.sequence,
                     .n = call.keys,
                     .k = call.head_dim,
                     .flops = 4 * volume,
                     .bytes = 2 * traffic(q) + traffic(k) + traffic(v) + (bias ? traffic(bias) : 0)};
  cut_into_documents(kernel, call.document);
  const Tensors made = tape.results_of(StackKernelSort::kAttention, [&] {
    Tensors results{tape.empty(q.shape, q.dtype), tape.empty({batch, call.heads, padded}, DType::kFp32),
                    tape.empty({2}, kIndexType)};
    results[0].order = flash ? q.order : kRowsOfHeads;
    tape.launch(kernel);
    return results;
  });
  const Tensor& out = made[0];
  AttentionCall kept = call;
  kept.mask = {};
  AttentionMemory memory{kept, kernel, volume, flash, made[1], {q.detached(), k.detached(), v.detached()},
                         {out.detached(), made[2], bias}};
  return tape.record(Tensor(out), {&q, &k, &v},
                     [memory = std::move(memory)](Tape& t, const Tensors&) { return fused_attention_backward(t, memory); });
}

}  // namespace plimsoll
