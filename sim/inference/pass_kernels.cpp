#include "sim/inference/pass_kernels.h"

#include <algorithm>
#include <cmath>

#include "core/inference/kv_cache.h"

namespace plimsoll {
namespace {

/// Elementwise kernels of three operands whose traffic is that of a chain of eager ones. Reading 4-bit codes: two masks, a shift
/// and a join of bytes (1 + 1 + 1 + 2 bytes a number), a division into fp16 (3) and an addition (4): 12 bytes, twice a kAdd's 6.
/// Making them: least and largest (2 + 2), difference and quotient (4 + 4), rounding, clamping, a cast (4 + 4 + 3), shift and join
/// (2): 25 bytes, four times a kAdd's.
constexpr std::int64_t kReadingStreams = 2;
constexpr std::int64_t kMakingStreams = 4;

bool is_weight_product(OpKind kind) { return kind == OpKind::kLinear || kind == OpKind::kExpertLinear; }

BaseStorage storage_of(GroupCode code) { return code.bits == 8 ? BaseStorage::kInt8 : BaseStorage::kNf4; }

}  // namespace

PassKernels::PassKernels(const InferenceTask& task, const OffloadPolicy& policy, std::int64_t cached)
    : task_(task), policy_(policy) {
  pass_ = {.sequences = policy.gpu_batch, .new_tokens = cached > 0 ? 1 : task.prompt, .cached = cached, .precision = task.precision};
  blocks_.resize(static_cast<std::size_t>(task.spec.layers));
  for (const Op& op : build_inference_graph(task.spec, pass_).ops) {
    add(op.block < 0 ? ends_ : blocks_[static_cast<std::size_t>(op.block)], op);
  }
}

void PassKernels::add(std::vector<PassKernel>& to, const Op& op) {
  if (op.kind == OpKind::kAttention) return add_attention(to, op);
  const std::int64_t matrices = std::max<std::int64_t>(1, op.shape.experts);
  if (op.block >= 0 && is_weight_product(op.kind)) add_decoding(to, op.shape.inputs * op.shape.outputs * matrices, policy_.weight_code);
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
    if (decodes) add_decoding(to, there * cached_tokens(task_.spec, pass_.cached) * width, policy_.cache_code);
    to.push_back({.kernel = {op.kind, op.dtype, shape}});
  }
  if (on_cpu && away > 0) add_cpu_attention(to, op, away);
}

/// A CPU without products of two-byte types first widens what is cached.
void PassKernels::add_cpu_attention(std::vector<PassKernel>& to, const Op& op, std::int64_t sequences) {
  const ModelSpec& spec = task_.spec;
  OpShape shape = op.shape;
  shape.rows = sequences;
  const std::int64_t bytes = size_of(task_.type());
  PassKernel widen{.kernel = {OpKind::kDequantize, DType::kFp32, {}}, .on_cpu = true, .fetch = Bytes(sequences * spec.qkv_width() * bytes)};
  widen.kernel.shape.rows = sequences * cached_tokens(spec, pass_.cached + 1);
  widen.kernel.shape.inputs = kv_numbers_per_block(spec);
  widen.kernel.shape.variant = static_cast<std::uint8_t>(policy_.cache_code.exists() ? storage_of(policy_.cache_code) : BaseStorage::kBf16);
  if (bytes == 2 || policy_.cache_code.exists()) to.push_back(widen);
  PassKernel attend{.kernel = {op.kind, DType::kFp32, shape}, .on_cpu = true, .give_back = Bytes(sequences * spec.attention_width() * bytes)};
  if (bytes == 4 && !policy_.cache_code.exists()) attend.fetch = widen.fetch;
  to.push_back(attend);
}

void PassKernels::add_decoding(std::vector<PassKernel>& to, std::int64_t numbers, GroupCode code) {
  if (!code.exists()) return;
  if (policy_.eager_codes) return add_streams(to, numbers, kReadingStreams);
  OpShape shape{.rows = 1, .inputs = numbers};
  shape.variant = static_cast<std::uint8_t>(storage_of(code));
  to.push_back({.kernel = {OpKind::kDequantize, task_.type(), shape}});
}

void PassKernels::add_encoding(std::vector<PassKernel>& to, std::int64_t numbers, GroupCode code) {
  if (code.exists()) add_streams(to, numbers, policy_.eager_codes ? kMakingStreams : 1);
}

void PassKernels::add_streams(std::vector<PassKernel>& to, std::int64_t numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to.push_back({.kernel = {OpKind::kAdd, task_.type(), {.rows = 1, .inputs = numbers}}});
}

}  // namespace plimsoll
