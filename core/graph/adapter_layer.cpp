#include "core/graph/adapter_layer.h"

#include <fmt/format.h>

#include <vector>

#include "core/model/adapter_parts.h"

namespace plimsoll {
namespace {

using Kind = TensorKind;
using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

std::vector<AdapterPart> parts_beside(const GraphBuilder& build, std::int64_t block, ParameterRole weight) {
  std::vector<AdapterPart> parts;
  if (block < 0 || !build.recipe().adapter.exists()) return parts;
  for (const AdapterPart& part : adapter_parts(build.spec())) {
    if (part.weight == weight && build.recipe().adapter.has(part.target)) parts.push_back(part);
  }
  return parts;
}

/// The product with A: [rows, inputs] to [rows, rank].
OpShape down_shape(const GraphBuilder& build, const AdapterPart& part) {
  return {.rows = build.tokens(), .inputs = part.inputs, .outputs = build.recipe().adapter.rank};
}

/// The product with B, scaled: [rows, rank] to the part's columns of rows of `width`.
OpShape up_shape(const GraphBuilder& build, const AdapterPart& part, std::int64_t width) {
  return {.rows = build.tokens(), .inputs = build.recipe().adapter.rank, .outputs = part.outputs,
          .stride = part.outputs == width ? 0 : width, .constant = build.recipe().adapter.scale()};
}

/// The part's columns of a [rows, width] tensor, from the first row's first to the last row's last.
TensorId columns(GraphBuilder& build, TensorId tensor, const AdapterPart& part, std::int64_t width) {
  if (part.outputs == width) return tensor;
  return build.view(tensor, part.first, (build.tokens() - 1) * width + part.outputs);
}

std::string name_of(const char* what, AdapterTarget target) { return fmt::format("{} of adapter {}", what, to_text(target)); }

}  // namespace

void AdapterLayer::forward(std::int64_t block, ParameterRole weight, TensorId x, TensorId y, std::int64_t width) {
  for (const AdapterPart& part : parts_beside(build_, block, weight)) {
    const OpShape down = down_shape(build_, part);
    const TensorId narrow = build_.make(Kind::kActivation, down.rows * down.outputs, name_of("middle", part.target));
    narrow_[{block, part.target}] = narrow;
    build_.add(OpKind::kLinear, down,
               {{x, kR}, {build_.adapter(Kind::kParameter, block, Role::kAdapterA, part.target), kR}, {narrow, kW}});
    build_.add(OpKind::kLinear, up_shape(build_, part, width),
               {{narrow, kR}, {build_.adapter(Kind::kParameter, block, Role::kAdapterB, part.target), kR},
                {columns(build_, y, part, width), kRw}});
  }
}

void AdapterLayer::backward(std::int64_t block, ParameterRole weight, TensorId dy, TensorId x, TensorId dx, std::int64_t width) {
  for (const AdapterPart& part : parts_beside(build_, block, weight)) {
    const OpShape down = down_shape(build_, part), up = up_shape(build_, part, width);
    const TensorId d_narrow =
        build_.make(Kind::kActivationGradient, down.rows * down.outputs, name_of("middle gradient", part.target));
    const TensorId d_part = columns(build_, dy, part, width);
    const auto a = [&](Kind kind) { return build_.adapter(kind, block, Role::kAdapterA, part.target); };
    const auto b = [&](Kind kind) { return build_.adapter(kind, block, Role::kAdapterB, part.target); };
    build_.add(OpKind::kLinearBackwardInput, up, {{d_part, kR}, {b(Kind::kParameter), kR}, {d_narrow, kW}});
    build_.add(OpKind::kLinearBackwardWeight, up,
               {{d_part, kR}, {narrow_.at({block, part.target}), kR}, {b(Kind::kGradient), kW}});
    build_.add(OpKind::kLinearBackwardInput, down, {{d_narrow, kR}, {a(Kind::kParameter), kR}, {dx, kRw}});
    build_.add(OpKind::kLinearBackwardWeight, down, {{d_narrow, kR}, {x, kR}, {a(Kind::kGradient), kW}});
  }
}

}  // namespace plimsoll
