#include "sim/stack/nets/onnx_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"

namespace plimsoll {
namespace {

bool is_scalar(const OnnxCall& call, std::size_t i) { return call.at(i).elements() == 1 && call.at(i).weight == nullptr; }

OnnxStates combined(const OnnxCall& call, Tensor (*two)(Tape&, const Tensor&, const Tensor&), Tensor (*with_number)(Tape&, const Tensor&)) {
  if (call.at(0).whole && call.at(1).whole)
    return whole_state(call, broadcast(call, call.at(0).shape, call.at(1).shape), kIndexType);
  const std::size_t number = is_scalar(call, 1) ? 1 : is_scalar(call, 0) ? 0 : 2;
  Tensor out = number < 2 ? with_number(call.tape, call.tensor(1 - number)) : two(call.tape, call.tensor(0), call.tensor(1));
  const Shape shape = broadcast(call, call.at(0).shape, call.at(1).shape);
  if (elements_of(shape) != out.elements()) call.refuse("combines two shapes into a larger one, which is not known here");
  OnnxStates made = one_state(std::move(out));
  made[0].shape = made[0].tensor.shape = shape;
  return made;
}

OnnxStates added(const OnnxCall& call) { return combined(call, add, shift); }
OnnxStates multiplied(const OnnxCall& call) { return combined(call, multiply, scale); }
OnnxStates from_x(const OnnxCall& call) { return one_state(from_input(call.tape, call.tensor(0))); }
OnnxStates from_y(const OnnxCall& call) { return one_state(from_result(call.tape, call.tensor(0))); }
OnnxStates scaled(const OnnxCall& call) {
  return call.at(0).whole ? whole_state(call, call.at(0).shape, kIndexType) : one_state(scale(call.tape, call.tensor(0)));
}
OnnxStates same(const OnnxCall& call) { return {call.at(0)}; }

OnnxStates dropped(const OnnxCall& call) {
  OnnxStates made = one_state(dropout(call.tape, call.tensor(0), 0.1));
  if (call.node.outputs.size() > 1) made.push_back(whole_state(call, made[0].shape)[0]);
  return made;
}

OnnxStates cast_to(const OnnxCall& call) {
  const bool to_float = is_float(static_cast<OnnxType>(call.node.whole("to", 0)));
  if (to_float == !call.at(0).whole) return same(call);
  if (!to_float) return whole_state(call, call.at(0).shape, kIndexType);
  return one_state(call.tape.empty(call.at(0).shape, DType::kFp32));
}

OnnxStates compared(const OnnxCall& call) {
  return whole_state(call, call.inputs.size() > 1 ? broadcast(call, call.at(0).shape, call.at(1).shape) : call.at(0).shape);
}

/// One of two tensors, by a mask.
OnnxStates where(const OnnxCall& call) {
  const Shape shape = broadcast(call, call.at(0).shape, broadcast(call, call.at(1).shape, call.at(2).shape));
  for (const std::size_t i : {1, 2}) {
    const OnnxState& x = call.at(i);
    if (x.tensor && x.elements() == elements_of(shape) && !x.whole) return one_state(masked(call.tape, call.tensor(i)));
  }
  if (call.at(1).whole && call.at(2).whole) return whole_state(call, shape, kIndexType);
  return one_state(call.tape.empty(shape, DType::kFp32));
}

OnnxStates powered(const OnnxCall& call) { return one_state(power(call.tape, call.tensor(0))); }

OnnxOperator find_elementwise(const std::string& op) {
  static const std::map<std::string, OnnxOperator> known = [] {
    std::map<std::string, OnnxOperator> table{{"Add", added},     {"Sub", added},       {"Mul", multiplied},  {"Div", multiplied},
                                              {"Min", multiplied}, {"Max", multiplied},  {"Pow", powered},     {"Neg", scaled},
                                              {"Identity", same},  {"Dropout", dropped}, {"Cast", cast_to},    {"Where", where}};
    for (const char* saves_input : {"Gelu", "Erf", "Log", "Sin", "Cos", "Abs", "LeakyRelu", "Elu", "HardSwish", "HardSigmoid", "Mish",
                                    "Swish", "Softplus", "Clip", "PRelu", "Selu", "Celu", "Softsign", "ThresholdedRelu"})
      table[saves_input] = from_x;
    for (const char* saves_result : {"Tanh", "Sigmoid", "Exp", "Sqrt", "Reciprocal", "Relu"}) table[saves_result] = from_y;
    for (const char* test : {"IsNaN", "IsInf", "Not", "And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
      table[test] = compared;
    return table;
  }();
  const auto found = known.find(op);
  return found == known.end() ? nullptr : found->second;
}

OnnxOperator find_operator(const std::string& op) {
  if (const OnnxOperator known = find_elementwise(op); known != nullptr) return known;
  if (const OnnxOperator known = find_shape_operator(op); known != nullptr) return known;
  return find_layer_operator(op);
}

}  // namespace

OnnxStates one_state(Tensor tensor) {
  OnnxState state{.shape = tensor.shape};
  state.tensor = std::move(tensor);
  return {std::move(state)};
}

OnnxStates whole_state(const OnnxCall& call, Shape shape, DType dtype) {
  OnnxStates made = one_state(call.tape.empty(std::move(shape), dtype));
  call.tape.stream(2 * traffic(made[0].tensor), dtype);
  made[0].whole = true;
  return made;
}

OnnxState& OnnxCall::at(std::size_t i) const {
  if (!has(i)) refuse(fmt::format("lacks its input {}", i + 1));
  return *inputs[i];
}

Tensor OnnxCall::tensor(std::size_t i) const {
  OnnxState& state = at(i);
  if (state.weight != nullptr) {
    Tensor weight = state.weight->use();
    weight.shape = state.shape;
    return weight;
  }
  if (!state.tensor) state.tensor = tape.empty(state.shape, state.whole ? kIndexType : DType::kFp32);
  return state.tensor;
}

std::vector<std::int64_t> OnnxCall::numbers(std::size_t i, const char* attribute) const {
  if (!has(i)) return node.numbers(attribute);
  if (!inputs[i]->known) refuse("has a shape that only the numbers of a run decide");
  return inputs[i]->numbers;
}

void OnnxCall::refuse(const std::string& what) const {
  throw EnvironmentError({.kind = ErrorKind::kInput,
                          .what = fmt::format("the node '{}' ({}) {}", node.name.empty() ? node.outputs.front() : node.name, node.op, what),
                          .where = {},
                          .remedy = "export the model with the batch that you mean, or with a named first dimension"});
}

Shape broadcast(const OnnxCall& call, const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    const bool outermost = i + 1 == shape.size();
    const bool other_batch = outermost && call.batch != call.stated_batch && (x == call.batch || y == call.batch);
    if (x != y && x != 1 && y != 1 && !other_batch) call.refuse("joins shapes that do not go together");
    shape[shape.size() - 1 - i] = other_batch ? call.batch : std::max(x, y);
  }
  return shape;
}

std::size_t dimension_of(const OnnxCall& call, std::int64_t axis, std::size_t rank) {
  const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (at < 0 || at >= static_cast<std::int64_t>(rank)) call.refuse("names a dimension that is not there");
  return static_cast<std::size_t>(at);
}

void need_rank(const OnnxCall& call, std::size_t input, std::size_t rank) {
  if (call.at(input).shape.size() < rank) call.refuse(fmt::format("needs a tensor of {} dimensions at least", rank));
}

std::vector<OnnxState> run_onnx_operator(const OnnxCall& call) { return find_operator(call.node.op)(call); }

bool knows_onnx_operator(const OnnxNode& node) {
  static constexpr const char* kOfNumbers[] = {"Constant", "Shape", "Size", "Range"};
  const bool numbers = std::any_of(std::begin(kOfNumbers), std::end(kOfNumbers), [&](const char* op) { return node.op == op; });
  return node.domain.empty() && (numbers || find_operator(node.op) != nullptr);
}

}  // namespace plimsoll
