#include <algorithm>
#include <map>

#include "sim/stack/nets/onnx_operators.h"

namespace plimsoll {
namespace {

OnnxStates same(const OnnxCall& call) { return {call.at(0)}; }

/// The node's tensor in another shape; of whole numbers too.
OnnxStates viewed(const OnnxCall& call, Shape shape) {
  OnnxState& x = call.at(0);
  if (elements_of(shape) != x.elements()) call.refuse("gives a tensor a shape with another number of elements");
  OnnxStates made = one_state(x.tensor ? view(call.tape, call.tensor(0), std::move(shape)) : call.tape.empty(std::move(shape), kIndexType));
  made[0].whole = x.whole;
  return made;
}

OnnxStates reshaped(const OnnxCall& call) {
  Shape target = call.numbers(1, "shape");
  const std::int64_t elements = call.at(0).elements();
  std::int64_t known = 1;
  std::size_t open = target.size();
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && call.node.whole("allowzero", 0) == 0 && i < call.at(0).shape.size()) target[i] = call.at(0).shape[i];
    if (target[i] < 0) open = i;
    else known *= target[i];
  }
  if (open == target.size()) {
    // A file with a fixed batch has it in its shapes, outermost.
    if (known > 0 && known != elements && !target.empty() && elements * call.stated_batch == known * call.batch &&
        target[0] * call.batch % call.stated_batch == 0)
      target[0] = target[0] * call.batch / call.stated_batch;
  } else {
    if (known == 0) call.refuse("leaves open a dimension of an empty tensor");
    if (elements % known != 0 && target[0] > 0 && target[0] % call.stated_batch == 0) {
      known = known / call.stated_batch * call.batch;
      target[0] = target[0] / call.stated_batch * call.batch;
    }
    if (known == 0 || elements % known != 0) call.refuse("gives a tensor a shape with another number of elements");
    target[open] = elements / known;
  }
  return viewed(call, std::move(target));
}

OnnxStates flattened(const OnnxCall& call) {
  const Shape& shape = call.at(0).shape;
  const std::int64_t axis = call.node.whole("axis", 1);
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
  if (at > shape.size()) call.refuse("has no such dimension");
  const std::int64_t rows = elements_of(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(at)));
  return viewed(call, {rows, rows == 0 ? 0 : call.at(0).elements() / rows});
}

OnnxStates squeezed(const OnnxCall& call) {
  const Shape& shape = call.at(0).shape;
  std::vector<bool> gone(shape.size(), false);
  const std::vector<std::int64_t> axes = call.numbers(1, "axes");
  for (const std::int64_t axis : axes) gone[dimension_of(call, axis, shape.size())] = true;
  Shape left;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (axes.empty() ? shape[i] != 1 : !gone[i]) left.push_back(shape[i]);
  }
  return viewed(call, std::move(left));
}

OnnxStates unsqueezed(const OnnxCall& call) {
  const std::vector<std::int64_t> axes = call.numbers(1, "axes");
  Shape shape = call.at(0).shape;
  std::vector<std::size_t> places;
  for (const std::int64_t axis : axes) places.push_back(dimension_of(call, axis, shape.size() + axes.size()));
  std::sort(places.begin(), places.end());
  for (const std::size_t place : places) {
    if (place > shape.size()) call.refuse("has no such dimension");
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(place), 1);
  }
  return viewed(call, std::move(shape));
}

/// An order of dimensions as swaps of two.
OnnxStates transposed(const OnnxCall& call) {
  const OnnxState& x = call.at(0);
  std::vector<std::int64_t> order = call.node.numbers("perm");
  if (order.empty()) {
    for (std::size_t i = x.shape.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  }
  constexpr std::size_t kMostDimensions = 16;
  if (order.size() != x.shape.size() || order.size() > kMostDimensions) call.refuse("orders more or fewer dimensions than there are");
  if (x.weight != nullptr && order == std::vector<std::int64_t>{1, 0}) {
    OnnxStates made{x};
    std::swap(made[0].shape[0], made[0].shape[1]);
    return made;
  }
  Tensor out = call.tensor(0);
  std::vector<std::size_t> now(order.size());
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = i;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto at = std::find(now.begin() + static_cast<std::ptrdiff_t>(i), now.end(), dimension_of(call, order[i], now.size()));
    if (at == now.end()) call.refuse("names a dimension twice");
    const auto from = static_cast<std::size_t>(at - now.begin());
    if (from == i) continue;
    out = transpose(call.tape, out, i, from);
    std::swap(now[i], now[from]);
  }
  OnnxStates made = one_state(std::move(out));
  made[0].whole = x.whole;
  return made;
}

OnnxStates parted(const OnnxCall& call) {
  const Shape& shape = call.at(0).shape;
  const std::size_t axis = dimension_of(call, call.node.whole("axis", 0), shape.size());
  std::vector<std::int64_t> sizes = call.numbers(1, "split");
  const auto count = static_cast<std::int64_t>(call.node.outputs.size());
  for (std::int64_t i = 0; sizes.empty() && i < count; ++i) sizes.assign(static_cast<std::size_t>(count), shape[axis] / count);
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) sum += size;
  if (sum != shape[axis] || static_cast<std::int64_t>(sizes.size()) != count) call.refuse("cuts a dimension into parts that do not add up to it");
  OnnxStates made;
  if (axis + 1 == shape.size()) {
    for (Tensor& part : split(call.tape, call.tensor(0), sizes)) made.push_back(one_state(std::move(part))[0]);
  } else {
    for (const std::int64_t size : sizes) made.push_back(one_state(narrow(call.tape, call.tensor(0), axis, size))[0]);
  }
  return made;
}

OnnxStates cut(const OnnxCall& call) {
  const auto starts = call.numbers(1, "starts"), ends = call.numbers(2, "ends"), steps = call.numbers(4, "steps");
  const auto axes = call.numbers(3, "axes");
  Tensor out = call.tensor(0);
  const Shape shape = call.at(0).shape;
  for (std::size_t i = 0; i < starts.size() && i < ends.size(); ++i) {
    const std::size_t axis = dimension_of(call, i < axes.size() ? axes[i] : static_cast<std::int64_t>(i), shape.size());
    const std::int64_t step = i < steps.size() ? steps[i] : 1;
    if (step < 1) call.refuse("reads backwards, which is not known here");
    const auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + shape[axis] : at, 0, shape[axis]); };
    const std::int64_t count = (std::max<std::int64_t>(0, clamp(ends[i]) - clamp(starts[i])) + step - 1) / step;
    if (count != out.shape[axis]) out = narrow(call.tape, out, axis, count);
  }
  OnnxStates made = one_state(std::move(out));
  made[0].whole = call.at(0).whole;
  return made;
}

OnnxStates joined(const OnnxCall& call) {
  const std::size_t axis = dimension_of(call, call.node.whole("axis", 0), call.at(0).shape.size());
  Tensors parts;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.at(i).shape.size() != call.at(0).shape.size()) call.refuse("joins tensors of different dimensions");
    parts.push_back(call.tensor(i));
  }
  OnnxStates made = one_state(concatenate(call.tape, parts, axis));
  made[0].whole = call.at(0).whole;
  return made;
}

/// Numbers repeated: a copy, whose gradient is summed up.
OnnxStates repeated(const OnnxCall& call) {
  const OnnxState& x = call.at(0);
  Shape target = call.numbers(1, "shape");
  if (!target.empty() && target[0] == call.stated_batch && call.stated_batch > 1) target[0] = call.batch;
  Shape shape;
  if (call.node.op == "Tile") {
    shape = x.shape;
    for (std::size_t i = 0; i < shape.size() && i < target.size(); ++i) shape[i] *= target[i];
  } else {
    shape = broadcast(call, x.shape, target);
  }
  if (x.whole) return whole_state(call, std::move(shape), kIndexType);
  if (shape == x.shape) return same(call);
  const Tensor from = call.tensor(0);
  Tensor out = call.tape.empty(std::move(shape), from.dtype);
  call.tape.stream(traffic(from) + traffic(out), from.dtype);
  return one_state(call.tape.record(std::move(out), {&from}, [before = from.shape, dtype = from.dtype](Tape& t, Tensors gradients) {
    Tensor sum = t.empty(before, dtype);
    t.stream(traffic(gradients[0]) + traffic(sum), dtype);
    return only(std::move(sum));
  }));
}

OnnxStates filled(const OnnxCall& call) {
  if (call.node.op == "ConstantOfShape") return whole_state(call, call.numbers(0, "shape"), kIndexType);
  return whole_state(call, call.at(0).shape, kIndexType);
}

}  // namespace

OnnxOperator find_shape_operator(const std::string& op) {
  static const std::map<std::string, OnnxOperator> known{
      {"Reshape", reshaped},     {"Flatten", flattened}, {"Squeeze", squeezed}, {"Unsqueeze", unsqueezed},
      {"Transpose", transposed}, {"Split", parted},      {"Slice", cut},        {"Concat", joined},
      {"Expand", repeated},      {"Tile", repeated},     {"ConstantOfShape", filled},
      {"CumSum", filled},        {"Trilu", filled},      {"Floor", filled},     {"Ceil", filled},
      {"Round", filled},         {"Sign", filled},       {"ArgMax", filled},    {"Mod", filled}};
  const auto found = known.find(op);
  return found == known.end() ? nullptr : found->second;
}

}  // namespace plimsoll
