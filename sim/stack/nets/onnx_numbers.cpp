#include <algorithm>
#include <cstdlib>

#include "sim/stack/nets/onnx_state.h"

namespace plimsoll {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kMostNumbers = 65'536;

bool all_known(const OnnxCall& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), [](const OnnxState* state) { return state == nullptr || state->known; });
}

void set(OnnxState& out, Numbers numbers, Shape shape) {
  out.numbers = std::move(numbers);
  out.shape = std::move(shape);
  out.known = out.whole = true;
}

/// Of the operators that take two lists of the same length, or a list and a number.
bool pairwise(const OnnxCall& call, OnnxState& out) {
  const std::string& op = call.node.op;
  const Numbers &a = call.at(0).numbers, &b = call.at(1).numbers;
  const std::size_t size = std::max(a.size(), b.size());
  if ((a.size() != size && a.size() != 1) || (b.size() != size && b.size() != 1) || size == 0) return false;
  Numbers results;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
    if ((op == "Div" || op == "Mod") && (y == 0 || (y == -1 && x == INT64_MIN))) call.refuse("divides by zero");
    std::int64_t r = 0;
    bool over = false;
    if (op == "Add") over = __builtin_add_overflow(x, y, &r);
    else if (op == "Sub") over = __builtin_sub_overflow(x, y, &r);
    else if (op == "Mul") over = __builtin_mul_overflow(x, y, &r);
    else if (op == "Div") r = x / y;
    else if (op == "Mod") r = x % y;
    else if (op == "Equal") r = x == y;
    else if (op == "Min") r = std::min(x, y);
    else if (op == "Max") r = std::max(x, y);
    else if (op == "Less") r = x < y;
    else if (op == "Greater") r = x > y;
    else return false;
    if (over) call.refuse("makes a number beyond 64 bits");
    results.push_back(r);
  }
  set(out, std::move(results), a.size() >= b.size() ? call.at(0).shape : call.at(1).shape);
  return true;
}

void gather(const OnnxCall& call, OnnxState& out) {
  const Numbers& data = call.at(0).numbers;
  Numbers results;
  for (const std::int64_t index : call.at(1).numbers) {
    const std::int64_t at = index < 0 ? index + static_cast<std::int64_t>(data.size()) : index;
    if (at < 0 || at >= static_cast<std::int64_t>(data.size())) call.refuse("reads a dimension that is not there");
    results.push_back(data[static_cast<std::size_t>(at)]);
  }
  set(out, std::move(results), call.at(1).shape);
}

void concatenated(const OnnxCall& call, OnnxState& out) {
  Numbers results;
  for (const OnnxState* state : call.inputs) results.insert(results.end(), state->numbers.begin(), state->numbers.end());
  const auto size = static_cast<std::int64_t>(results.size());
  set(out, std::move(results), {size});
}

void sliced(const OnnxCall& call, OnnxState& out) {
  const Numbers& data = call.at(0).numbers;
  const auto size = static_cast<std::int64_t>(data.size());
  const Numbers starts = call.numbers(1, "starts"), ends = call.numbers(2, "ends"), steps = call.numbers(4, "steps");
  const std::int64_t step = steps.empty() ? 1 : steps.front();
  if (starts.size() != 1 || ends.size() != 1 || step < 1) call.refuse("cuts a list in a way that is not known here");
  const auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  Numbers results;
  for (std::int64_t i = clamp(starts.front()); i < clamp(ends.front()); i += step) results.push_back(data[static_cast<std::size_t>(i)]);
  const auto left = static_cast<std::int64_t>(results.size());
  set(out, std::move(results), {left});
}

bool range(const OnnxCall& call, OnnxState& out) {
  for (const std::size_t i : {0, 1, 2}) {
    if (call.at(i).numbers.size() != 1) call.refuse("counts between lists");
  }
  const std::int64_t first = call.at(0).numbers.at(0), end = call.at(1).numbers.at(0), step = call.at(2).numbers.at(0);
  if (step == 0) call.refuse("counts in steps of 0");
  Numbers results;
  for (std::int64_t i = first; step > 0 ? i < end : i > end; i += step) {
    if (static_cast<std::int64_t>(results.size()) >= kMostNumbers) call.refuse("counts too far");
    results.push_back(i);
  }
  const auto size = static_cast<std::int64_t>(results.size());
  set(out, std::move(results), {size});
  return true;
}

bool constant_of_shape(const OnnxCall& call, OnnxState& out) {
  const Shape shape = call.at(0).numbers;
  const OnnxAttribute* const value = call.node.attribute("value");
  const bool whole = value != nullptr && value->constant && value->constant->known && value->constant->numbers.size() == 1;
  if (!whole || shape.size() > 1 || (!shape.empty() && shape[0] < 0) || elements_of(shape) > kMostNumbers) return false;
  set(out, Numbers(static_cast<std::size_t>(elements_of(shape)), value->constant->numbers.front()), shape);
  return true;
}

bool chosen(const OnnxCall& call, OnnxState& out) {
  const Numbers &which = call.at(0).numbers, &a = call.at(1).numbers, &b = call.at(2).numbers;
  Numbers results;
  for (std::size_t i = 0; i < which.size(); ++i) {
    if ((a.size() != which.size() && a.size() != 1) || (b.size() != which.size() && b.size() != 1)) return false;
    results.push_back(which[i] != 0 ? a[a.size() == 1 ? 0 : i] : b[b.size() == 1 ? 0 : i]);
  }
  set(out, std::move(results), call.at(0).shape);
  return true;
}

/// The same numbers under another shape of one dimension at most.
bool reshaped(const OnnxCall& call, OnnxState& out) {
  const auto size = static_cast<std::int64_t>(call.at(0).numbers.size());
  const bool scalar = call.node.op == "Squeeze" && size == 1;
  set(out, call.at(0).numbers, scalar ? Shape{} : Shape{size});
  return true;
}

}  // namespace

bool evaluate_numbers(const OnnxCall& call, OnnxState& out) {
  const std::string& op = call.node.op;
  if (op == "Shape" || op == "Size") {
    const OnnxState& of = call.at(0);
    Numbers dims = of.shape;
    if (op == "Size") dims = {of.elements()};
    const auto rank = static_cast<std::int64_t>(dims.size());
    const std::int64_t first = call.node.whole("start", 0), last = call.node.whole("end", rank);
    const auto at = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
    dims = op == "Size" ? dims : Numbers(dims.begin() + at(first), dims.begin() + std::max(at(first), at(last)));
    const Shape shape = op == "Size" ? Shape{} : Shape{static_cast<std::int64_t>(dims.size())};
    set(out, std::move(dims), shape);
    return true;
  }
  if (call.inputs.empty() || !all_known(call)) return false;
  if (op == "Gather") gather(call, out);
  else if (op == "Concat") concatenated(call, out);
  else if (op == "Slice") sliced(call, out);
  else if (op == "Range") return range(call, out);
  else if (op == "ConstantOfShape") return constant_of_shape(call, out);
  else if (op == "Where") return chosen(call, out);
  else if (op == "Unsqueeze" || op == "Squeeze" || op == "Reshape" || op == "Cast" || op == "Identity") {
    if (op == "Cast" && is_float(static_cast<OnnxType>(call.node.whole("to", 0)))) return false;
    if (call.at(0).shape.size() > 1) return false;
    if (op == "Cast" || op == "Identity") set(out, call.at(0).numbers, call.at(0).shape);
    else return reshaped(call, out);
  } else if (call.inputs.size() == 2) {
    return pairwise(call, out);
  } else {
    return false;
  }
  return true;
}

}  // namespace plimsoll
