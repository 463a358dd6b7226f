#include "sim/stack/megatron/shared_expert.h"

namespace plimsoll {

SharedExpert make_shared_expert(Tape& tape, const std::string& name, const ModelSpec& spec, const MegatronCut& cut) {
  SharedExpert made;
  const std::int64_t h = spec.hidden, inner = spec.experts.shared_width / cut.tensor_ranks;
  if (inner == 0) return made;
  made.in.weight = &tape.parameter(name + ".shared_expert.in", {is_gated(spec.activation) ? 2 * inner : inner, h}, cut.type);
  made.out.weight = &tape.parameter(name + ".shared_expert.out", {h, inner}, cut.type);
  if (spec.experts.shared_gate) made.gate = &tape.parameter(name + ".shared_expert.gate", {1, h}, cut.type);
  return made;
}

Tensor shared_expert(Tape& tape, const Tensor& x, const SharedExpert& own, const ModelSpec& spec, const MegatronCut& cut) {
  Tensor inner = column_parallel(tape, x, own.in, cut);
  inner = fused_activation(tape, inner, spec.experts.shared_width / cut.tensor_ranks);
  inner = row_parallel(tape, inner, own.out, cut);
  if (own.gate == nullptr) return inner;
  return multiply(tape, from_result(tape, linear(tape, x, {.weight = own.gate})), inner);
}

}  // namespace plimsoll
