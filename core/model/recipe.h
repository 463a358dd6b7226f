#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/adapter.h"
#include "core/model/dtype.h"
#include "core/model/loss_scaling.h"
#include "core/model/model_spec.h"
#include "core/model/optimizer.h"

namespace plimsoll {

/// Numeric format of compute and of stored weights and gradients; mixed formats keep fp32 master weights, pure bf16 keeps
/// weights and optimizer states in bf16 alone. tf32 stores fp32; only matrix products read less of it.
enum class Precision : std::uint8_t { kFp32, kFp16Mixed, kBf16Mixed, kFp64, kBf16, kTf32 };
enum class LrSchedule : std::uint8_t { kConstant, kLinear, kCosine };
/// The matrix-product library of the CPU backend; it decides rounding and so belongs to the recipe.
enum class MatmulLibrary : std::uint8_t { kOneDnn, kOpenBlas };

/// Everything that decides numbers. Two runs with equal recipes on equal backends give bitwise equal losses.
struct Recipe {
  Precision precision = Precision::kFp32;
  MatmulLibrary matmul = MatmulLibrary::kOneDnn;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  std::int64_t micro_batch = 1;  ///< sequences per micro-batch
  std::int64_t accumulate = 1;   ///< micro-batches per optimizer step
  std::int64_t sequence = 0;     ///< tokens per sequence
  std::int64_t target_sequence = 0;  ///< tokens that an encoder–decoder's decoder reads; 0: as many
  double learning_rate = 3e-4;
  LrSchedule schedule = LrSchedule::kConstant;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;  ///< where linear and cosine end; 0 only with the constant schedule
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double momentum = 0.9;      ///< of the rules momentum and lars
  bool nesterov = false;      ///< momentum looks one step ahead
  double trust = 1e-3;        ///< lars: a matrix moves by this share of its norm, times the learning rate
  bool relative_step = true;  ///< adafactor: steps are relative to the weights and shrink with 1/√t
  double clip = 1.0;  ///< bound of the global gradient norm; 0 switches clipping off
  std::int64_t delay = 0;  ///< 1: an update takes the gradients of the step before its own, the first step's none
  LossScaling loss_scaling;  ///< fp16 only
  std::uint64_t seed = 1;
  AdapterSpec adapter;  ///< if it exists, it alone is trained

  bool operator==(const Recipe&) const = default;

  /// Tokens of one micro-batch.
  [[nodiscard]] std::int64_t tokens_per_micro_batch() const { return micro_batch * sequence; }
  /// Tokens of one optimizer step.
  [[nodiscard]] std::int64_t tokens_per_step() const { return tokens_per_micro_batch() * accumulate; }
};

/// `recipe` with another rule, and that rule's own numbers in place of those it had.
Recipe with_optimizer(Recipe recipe, OptimizerKind optimizer);

/// Tokens that a decoder beside an encoder reads.
std::int64_t target_tokens(const Recipe& recipe);

/// Type of activations, weights used in compute, and gradients.
DType compute_dtype(Precision precision);
/// In what matrix products read their operands: compute's type, or tf32.
DType product_dtype(Precision precision);
/// Type of the optimizer's master copy and moments.
DType state_dtype(Precision precision);
/// Type of what is summed up or noted beside the compute type: gradients of several micro-batches, a norm's statistics,
/// kernels' scratch. fp32, or fp64 in fp64.
DType sum_dtype(Precision precision);
/// True when the optimizer keeps an fp32 copy beside the weights that compute uses.
bool has_master_copy(Precision precision);

/// True when the loss is scaled: what underflows in fp16 would be lost.
bool scales_loss(Precision precision);
/// True when no update may be kept before the norm of all gradients is known: it clips, or tells that they overflowed.
bool awaits_norm(const Recipe& recipe);

/// Checks sizes and ranges against the model: a sequence beyond its positions is refused with the bound.
Result<void> validate(const Recipe& recipe, const ModelSpec& spec);

/// Learning rate of optimizer step `step` (0-based): linear warm-up, then the schedule down to a tenth of the peak.
double learning_rate_at(const Recipe& recipe, std::int64_t step);

std::string_view to_text(Precision precision);
std::string_view to_text(LrSchedule schedule);
std::string_view to_text(MatmulLibrary library);
Result<Precision> parse_precision(std::string_view text);
Result<LrSchedule> parse_lr_schedule(std::string_view text);
Result<MatmulLibrary> parse_matmul(std::string_view text);

/// One line that names every field; equal recipes, equal text.
std::string canonical_text(const Recipe& recipe);

/// Fingerprint of all that decides numbers: equal digests on equal backends mean bitwise equal losses.
std::string numerics_digest(const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll
