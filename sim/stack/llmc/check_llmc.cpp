#include "sim/stack/llmc/check_llmc.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

tl::unexpected<Error> beyond(std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = "llm.c trains GPT-2: " + std::move(what), .where = {}, .remedy = "choose --stack pytorch"});
}

}  // namespace

Result<void> check_llmc(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const bool gpt2 = spec.family == Family::kGpt2 && spec.tied_head && spec.positions == PositionKind::kLearned && spec.ffn == 4 * spec.hidden &&
                    spec.activation == ActivationKind::kGeluTanh;
  if (!gpt2) return beyond(fmt::format("{} is another architecture", spec.name));
  if (recipe.precision != Precision::kBf16Mixed && recipe.precision != Precision::kFp32) return beyond("its precisions are bf16 and fp32");
  if (recipe.optimizer != OptimizerKind::kAdamW) return beyond("its optimizer is AdamW");
  if (setup.zero > 1) return beyond("it shares out optimizer states (ZeRO-1), nothing more");
  if (setup.tensor_ranks > 1 || setup.stages > 1 || setup.context_ranks > 1) return beyond("its GPUs share the batch alone");
  if (recipe.adapter.exists()) return beyond("it trains all parameters, without adapters");
  return {};
}

}  // namespace plimsoll
