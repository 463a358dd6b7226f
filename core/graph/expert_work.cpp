#include "core/graph/expert_work.h"

#include <cmath>

namespace plimsoll {
namespace {

// Operations of a router per token and expert, counted from its formulas: exponential, sum and scale; a comparison for
// each choice comes on top.
constexpr double kScoreFlops = 5;

double real(std::int64_t n) { return static_cast<double>(n); }

double router_flops(const OpShape& s) {
  return 2 * real(s.rows) * real(s.inputs) * real(router_outputs(s)) + real(s.rows * s.experts) * (kScoreFlops + real(s.choices));
}

/// What a router reads and notes of its tokens, but not their vectors.
double notes(const OpShape& s, double state) {
  return real(s.rows) * (real(scores_of_token(s)) + real(s.choices)) * state + 4 * real(routing_elements(s));
}

}  // namespace

double expert_flops(OpKind kind, const OpShape& s) {
  const double rows = expected_rows(s);
  switch (kind) {
    case OpKind::kExpertLinear:
    case OpKind::kExpertLinearBackwardInput:
    case OpKind::kExpertLinearBackwardWeight: return 2 * rows * real(s.inputs) * real(s.outputs);
    case OpKind::kRouter: return router_flops(s);
    case OpKind::kRouterBackward: return 2 * router_flops(s);
    case OpKind::kExpertDropout:
    case OpKind::kDispatch:
    case OpKind::kDispatchBackward: return rows * real(s.inputs);
    case OpKind::kCombine: return 2 * rows * real(s.inputs);
    case OpKind::kCombineBackward: return 3 * rows * real(s.inputs);
    case OpKind::kExpertBalance: return 5 * real(s.terms * s.groups * s.experts);
    default: return 0;
  }
}

Bytes expert_traffic(OpKind kind, const OpShape& s, DType dtype) {
  const double e = real(size_of(dtype)), state = dtype == DType::kFp64 ? 8 : 4;
  const double rows = expected_rows(s), tokens = real(s.rows), inputs = real(s.inputs);
  const double choices = 8 * tokens * real(s.choices);  // which expert, which row
  const auto bytes = [](double n) { return Bytes(std::llround(n)); };
  switch (kind) {
    case OpKind::kExpertLinear:
    case OpKind::kExpertLinearBackwardInput:
    case OpKind::kExpertLinearBackwardWeight:
      return bytes(e * (rows * (inputs + real(s.outputs)) + real(s.experts) * inputs * real(s.outputs)));
    case OpKind::kRouter: return bytes(e * inputs * (tokens + real(router_outputs(s))) + notes(s, state));
    case OpKind::kRouterBackward:
      return bytes(e * inputs * (3 * tokens + 2 * real(router_outputs(s))) + 2 * notes(s, state));
    case OpKind::kExpertDropout: return bytes(2 * e * rows * inputs);
    case OpKind::kDispatch:
    case OpKind::kDispatchBackward:
    case OpKind::kCombine: return bytes(e * inputs * (rows + tokens) + choices);
    case OpKind::kCombineBackward: return bytes(e * inputs * (2 * rows + tokens) + choices);
    case OpKind::kShareRouting:
      return Bytes(4 * s.terms * (routing_elements(s) + routing_elements(shape_of_share(s))) + 4 * (2 * s.terms + 3));
    case OpKind::kExpertBalance: return Bytes(8 * (s.terms * statistics_elements(s) + slopes_elements(s) + 2));
    default: return Bytes(0);
  }
}

}  // namespace plimsoll
