#include "sim/inference/pass_kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/inference/kv_cache.h"

namespace plimsoll {
namespace {

/// Bytes a number of chains of eager fp16 kernels over 4-bit codes in groups of 64, each operand once. Reading weights: a shift
/// and a mask (1 each), their stores into halves of the result (1.5 each), a division and an addition in place (4 each). The
/// cache is grouped along the heads' own width, so that the two stores write every other number of a row: whole sectors are read
/// and written (4.5 each); keys and values are then turned for a batched product (4).
constexpr std::int64_t kReadWeightBytes = 13;
constexpr std::int64_t kReadCacheBytes = 19 + 4;
/// Making codes: least and largest (2 each), difference, product, clamping, rounding (4 each), a cast (3), shift and join (3.5).
constexpr std::int64_t kMakeBytes = 26;
/// One kernel that reads a number of two bytes and writes its code, or the other way round.
constexpr std::int64_t kFusedBytes = 3;
/// transformers' attention as it was written in 2023, bytes a score of two: the product writes it, the mask is added and its
/// least value kept (4 each), the softmax reads it and writes fp32, which is cast back (6 each), the second product reads it.
constexpr std::int64_t kScoreBytes = 2 + 4 + 4 + 6 + 6 + 2;

bool is_weight_product(OpKind kind) { return kind == OpKind::kLinear || kind == OpKind::kExpertLinear; }

/// What a CPU that attends needs of a token: its queries, and its own key and value.
std::int64_t numbers_to_attend(const ModelSpec& spec) {
  return spec.latent.exists() ? (spec.heads + 1) * kv_numbers_per_block(spec) : spec.qkv_width();
}

std::int64_t numbers_attended(const ModelSpec& spec) {
  return spec.latent.exists() ? spec.heads * spec.latent.kv_rank : spec.attention_width();
}

BaseStorage storage_of(GroupCode code) { return code.bits == 8 ? BaseStorage::kInt8 : BaseStorage::kNf4; }

}  // namespace

PassKernels::PassKernels(const InferenceTask& task, const OffloadPolicy& policy, std::int64_t cached)
    : task_(task), policy_(policy) {
  pass_ = {.sequences = policy.gpu_batch,
           .new_tokens = cached > 0 ? 1 : task.prompt,
           .cached = cached,
           .precision = task.precision,
           .all_logits = runs_transformers(policy.program)};
  blocks_.resize(static_cast<std::size_t>(task.spec.layers));
  for (const Op& op : build_inference_graph(task.spec, pass_).ops) {
    add(op.block < 0 ? ends_ : blocks_[static_cast<std::size_t>(op.block)], op);
  }
}

void PassKernels::add(std::vector<PassKernel>& to, const Op& op) {
  if (op.kind == OpKind::kAttention) return add_attention(to, op);
  const std::int64_t matrices = std::max<std::int64_t>(1, op.shape.experts);
  if (op.block >= 0 && is_weight_product(op.kind))
    add_decoding(to, op.shape.inputs * op.shape.outputs * matrices, policy_.weight_code, kReadWeightBytes);
  to.push_back({.kernel = {op.kind, op.dtype, op.shape}});
}

void PassKernels::add_attention(std::vector<PassKernel>& to, const Op& op) {
  const std::int64_t width = kv_numbers_per_block(task_.spec);
  const bool decodes = pass_.cached > 0;
  const bool on_cpu = decodes && policy_.cpu_attention && policy_.cache.gpu < 1;
  const auto away = static_cast<std::int64_t>(std::llround(static_cast<double>(pass_.sequences) * (1 - policy_.cache.gpu)));
  const std::int64_t there = on_cpu ? pass_.sequences - away : pass_.sequences;
  add_encoding(to, pass_.sequences * pass_.new_tokens * width, policy_.cache_code);
  if (there > 0) {
    OpShape shape = op.shape;
    shape.rows = there * pass_.new_tokens;
    if (decodes)
      add_decoding(to, there * cached_tokens(task_.spec, op.block, pass_.cached) * width, policy_.cache_code,
                   kReadCacheBytes);
    if (runs_transformers(policy_.program)) add_written_out(to, shape, there, op.block);
    to.push_back({.kernel = {op.kind, op.dtype, shape}});
  }
  if (on_cpu && away > 0) add_cpu_attention(to, op, away);
}

/// A token joins copies of the cache's keys and values, which are repeated for the heads that share them; scores are written and
/// read as numbers of their own.
void PassKernels::add_written_out(std::vector<PassKernel>& to, OpShape& shape, std::int64_t sequences, std::int64_t block) {
  const std::int64_t size = size_of(task_.type());
  const std::int64_t tokens = pass_.cached > 0 ? cached_tokens(task_.spec, block, pass_.cached + 1) : pass_.new_tokens;
  const std::int64_t numbers = sequences * tokens * kv_numbers_per_block(task_.spec);
  if (pass_.cached > 0) add_stream(to, numbers, 2 * size);
  if (task_.spec.latent.exists()) return;
  add_repeated_heads(to, shape, numbers, false);
  add_stream(to, shape.rows * task_.spec.heads * tokens, kScoreBytes * size / 2);
}

/// Attention then reads as many keys and values as there are queries.
void PassKernels::add_repeated_heads(std::vector<PassKernel>& to, OpShape& shape, std::int64_t numbers, bool on_cpu) {
  const std::int64_t times = repeats();
  if (times == 1) return;
  add_stream(to, numbers, (1 + times) * size_of(task_.type()), on_cpu);
  shape.kv_heads = task_.spec.heads;
}

std::int64_t PassKernels::repeats() const {
  const bool repeated = runs_transformers(policy_.program) && !task_.spec.latent.exists() && task_.spec.kv_heads > 0;
  return repeated ? task_.spec.heads / task_.spec.kv_heads : 1;
}

/// A CPU without products of two-byte types first widens what is cached.
void PassKernels::add_cpu_attention(std::vector<PassKernel>& to, const Op& op, std::int64_t sequences) {
  const ModelSpec& spec = task_.spec;
  OpShape shape = op.shape;
  shape.rows = sequences;
  const std::int64_t bytes = size_of(task_.type());
  PassKernel widen{.kernel = {OpKind::kDequantize, DType::kFp32, {}},
                   .on_cpu = true,
                   .fetch = Bytes(sequences * numbers_to_attend(spec) * bytes)};
  widen.kernel.shape.rows = sequences * cached_tokens(spec, op.block, pass_.cached + 1);
  widen.kernel.shape.inputs = kv_numbers_per_block(spec) * repeats();
  widen.kernel.shape.variant =
      static_cast<std::uint8_t>(policy_.cache_code.exists() ? storage_of(policy_.cache_code) : BaseStorage::kBf16);
  if (repeats() > 1) {
    add_repeated_heads(to, shape, widen.kernel.shape.rows * kv_numbers_per_block(spec), true);
    std::swap(to.back().fetch, widen.fetch);
  }
  if (bytes == 2 || policy_.cache_code.exists()) to.push_back(widen);
  PassKernel attend{.kernel = {op.kind, DType::kFp32, shape},
                    .on_cpu = true,
                    .give_back = Bytes(sequences * numbers_attended(spec) * bytes)};
  if (bytes == 4 && !policy_.cache_code.exists()) attend.fetch = widen.fetch;
  to.push_back(attend);
}

void PassKernels::add_decoding(std::vector<PassKernel>& to, std::int64_t numbers, GroupCode code, std::int64_t eager_bytes) {
  if (code.exists()) add_stream(to, numbers, policy_.eager_codes ? eager_bytes : kFusedBytes);
}

void PassKernels::add_encoding(std::vector<PassKernel>& to, std::int64_t numbers, GroupCode code) {
  if (code.exists()) add_stream(to, numbers, policy_.eager_codes ? kMakeBytes : kFusedBytes);
}

/// An elementwise kernel of that traffic: a sum has three operands.
void PassKernels::add_stream(std::vector<PassKernel>& to, std::int64_t numbers, std::int64_t bytes, bool on_cpu) {
  const std::int64_t of_sum = 3 * size_of(task_.type());
  to.push_back({.kernel = {OpKind::kAdd, task_.type(), {.rows = 1, .inputs = numbers * bytes / of_sum}}, .on_cpu = on_cpu});
}

}  // namespace plimsoll
