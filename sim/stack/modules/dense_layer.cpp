#include "sim/stack/modules/dense_layer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/stack/modules/adapter_deltas.h"

namespace plimsoll {
namespace {

/// What a weight is decoded from.
struct Codes {
  Tensor codes;
  Tensor scales;  ///< nothing where they lie among the codes
};

Codes codes_of(const DenseLayer& layer) { return {.codes = layer.weight->use(), .scales = layer.scales}; }

/// The decoded weight; it lives as long as its product.
Tensor decoded(Tape& tape, const Codes& from, const Shape& shape, DType dtype) {
  Tensor weight = tape.empty(shape, dtype);
  const double scales = from.scales ? traffic(from.scales) : 0;
  tape.stream(traffic(from.codes) + scales + traffic(weight), dtype);
  return weight;
}

Tensor decoded_product(Tape& tape, const Tensor& x, const DenseLayer& layer) {
  const Codes codes = codes_of(layer);
  const Shape shape{layer.outputs, layer.inputs};
  const std::int64_t rows = x.elements() / layer.inputs;
  const Tensor weight = decoded(tape, codes, shape, x.dtype);
  Shape out_shape = x.shape;
  out_shape.back() = layer.outputs;
  Tensor out = tape.empty(std::move(out_shape), x.dtype);
  tape.product(1, rows, layer.outputs, layer.inputs, x.dtype);
  const Tensor kept = layer.keeps_input ? x.detached() : Tensor{};
  return tape.record(std::move(out), {&x}, [codes, kept, shape, rows, x_shape = x.shape, dtype = x.dtype](Tape& t, Tensors) {
    const Tensor again = decoded(t, codes, shape, dtype);
    Tensors results;
    results.push_back(t.empty(x_shape, dtype));
    t.product(1, rows, shape[1], shape[0], dtype);
    return results;
  });
}

/// The input in the products' type, and the result in the input's again: bitsandbytes' layers take no part in autocast.
Tensor encoded_product(Tape& tape, const Tensor& input, const DenseLayer& layer) {
  const Tensor x = cast(tape, input, layer.compute);
  return cast(tape, decoded_product(tape, x, layer), input.dtype);
}

Tensor base_product(Tape& tape, const Tensor& x, const DenseLayer& layer) {
  return layer.encoded ? encoded_product(tape, x, layer) : linear(tape, x, layer);
}

/// Of a matrix in 4 or 8 bits; without double quantization a block of 4-bit codes has a scale in fp32.
Bytes encoded_bytes(BaseStorage storage, std::int64_t elements, bool plain_scales) {
  if (storage != BaseStorage::kNf4 || !plain_scales) return bytes_in(storage, elements, DType::kFp32);
  return Bytes((elements + 1) / 2 + 4 * ((elements + kNf4Block - 1) / kNf4Block));
}

bool has(const AdapterSpec& adapter, AdapterTarget target) {
  if (adapter.has(target)) return true;
  // Layers of their own stand for one matrix of a family that has them fused, and the other way round.
  const bool part = target == AdapterTarget::kQuery || target == AdapterTarget::kKey || target == AdapterTarget::kValue;
  if (part) return adapter.has(AdapterTarget::kQkv);
  return target == AdapterTarget::kQkv && adapter.has(AdapterTarget::kQuery);
}

}  // namespace

Parameter* DenseMaker::parameter(const std::string& name, Shape shape) const {
  return &tape.parameter(prefix + name, std::move(shape), dtype, !adapter.exists() && prefix.empty());
}

Parameter* DenseMaker::parameter_or_copy(const std::string& name, Shape shape, bool copied) const {
  Parameter* const own = parameter(name, shape);
  return copied && adapter.exists() ? &tape.parameter(name + ".copy", std::move(shape), dtype) : own;
}

DenseLayer DenseMaker::make_plain(const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias) const {
  DenseLayer made;
  made.inputs = inputs;
  made.outputs = outputs;
  made.weight = parameter(name + ".weight", {outputs, inputs});
  if (bias) made.bias = parameter(name + ".bias", {outputs});
  return made;
}

DenseLayer DenseMaker::make(const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias, AdapterTarget target) const {
  const bool encoded = encodes && adapter.exists() && (adapter.base == BaseStorage::kInt8 || adapter.base == BaseStorage::kNf4);
  DenseLayer made;
  if (encoded) {
    made.inputs = inputs;
    made.outputs = outputs;
    made.encoded = true;
    made.compute = compute;
    made.keeps_input = adapter.base == BaseStorage::kInt8 || older_bitsandbytes;  // MatMul8bitLt, and MatMul4Bit until its fix
    const Bytes bytes = encoded_bytes(adapter.base, inputs * outputs, plain_scales);
    const std::int64_t codes = whole_scales && adapter.base == BaseStorage::kNf4 ? (inputs * outputs + 1) / 2 : bytes.count;
    made.weight = &tape.parameter(name + ".codes", {codes}, kMaskType, false);
    if (codes < bytes.count) made.scales = tape.empty({bytes.count - codes}, kMaskType, Holding::kParameters);
    if (bias) made.bias = parameter(name + ".bias", {outputs});
  } else {
    made = make_plain(name, inputs, outputs, bias);
    made.fp8 = fp8;
  }
  if (adapter.exists() && has_targets(kind.method) && has(adapter, target)) made.adapter = make_adapter(name, inputs, outputs, target);
  return made;
}

namespace {

/// The second factor is of low rank unless that would be more than half its longer side.
void add_kronecker_factors(AdapterWeights& made, std::int64_t inputs, std::int64_t outputs, std::int64_t rank,
                           const std::function<Parameter*(const char*, Shape)>& trained) {
  const auto [outer_rows, inner_rows] = near_root_factors(outputs);
  const auto [outer_columns, inner_columns] = near_root_factors(inputs);
  made.outer = trained(".w1", {outer_rows, outer_columns});
  const bool whole = 2 * rank >= std::max(inner_rows, inner_columns);
  made.down = trained(whole ? ".w2" : ".w2A", {whole ? inner_rows : rank, inner_columns});
  if (!whole) made.up = trained(".w2B", {inner_rows, rank});
}

}  // namespace

AdapterWeights DenseMaker::make_adapter(const std::string& name, std::int64_t inputs, std::int64_t outputs, AdapterTarget target) const {
  using Method = AdapterMethod;
  AdapterWeights made{.method = kind.method, .dropout = dropout};
  const std::int64_t rank = adapter.rank;
  const auto trained = [&](const char* part, Shape shape) { return &tape.parameter(name + part, std::move(shape), adapters); };
  const bool low_rank = kind.method == Method::kLora || kind.method == Method::kDora || kind.method == Method::kAdalora || kind.method == Method::kLoha;
  if (low_rank) {
    made.down = trained(".A", {rank, inputs});
    made.up = trained(".B", {outputs, rank});
  }
  switch (kind.method) {
    case Method::kDora: made.vector = trained(".magnitude", {outputs}); break;
    case Method::kAdalora: made.ranks = trained(".E", {rank, 1}); break;
    case Method::kVera:
      made.down = shared.down;
      made.up = shared.up;
      made.ranks = trained(".d", {rank});
      made.vector = trained(".b", {outputs});
      break;
    case Method::kLoha:
      made.second_down = trained(".A2", {rank, inputs});
      made.second_up = trained(".B2", {outputs, rank});
      break;
    case Method::kLokr: add_kronecker_factors(made, inputs, outputs, rank, trained); break;
    case Method::kIa3:
      made.scales_input = target == AdapterTarget::kDown;
      made.vector = trained(".l", {made.scales_input ? inputs : outputs});
      break;
    case Method::kBias: made.vector = trained(".own_bias", {outputs}); break;
    default: break;
  }
  return made;
}

Tensor whole_weight(Tape& tape, const DenseLayer& layer) {
  return layer.encoded ? decoded(tape, codes_of(layer), {layer.outputs, layer.inputs}, layer.compute) : layer.weight->use();
}

Tensor dense_layer(Tape& tape, const Tensor& x, const DenseLayer& layer) {
  if (!layer.group.empty()) return grouped_linear(tape, x, layer.group);
  if (layer.adapter.scales_input) return base_product(tape, scaled_input(tape, x, layer.adapter), layer);
  Tensor out = base_product(tape, x, layer);
  return layer.adapter.exists() ? with_adapter(tape, x, std::move(out), layer) : out;
}

}  // namespace plimsoll
