#include "sim/stack/modules/dense_layer.h"

namespace plimsoll {
namespace {

/// The decoded weight; it lives as long as its product.
Tensor decoded(Tape& tape, const Tensor& codes, const Shape& shape, DType dtype) {
  Tensor weight = tape.empty(shape, dtype);
  tape.stream(traffic(codes) + traffic(weight), dtype);
  return weight;
}

Tensor decoded_product(Tape& tape, const Tensor& x, const DenseLayer& layer) {
  const Tensor codes = layer.weight->use();
  const Shape shape{layer.outputs, layer.inputs};
  const std::int64_t rows = x.elements() / layer.inputs;
  const Tensor weight = decoded(tape, codes, shape, x.dtype);
  Shape out_shape = x.shape;
  out_shape.back() = layer.outputs;
  Tensor out = tape.empty(std::move(out_shape), x.dtype);
  tape.product(1, rows, layer.outputs, layer.inputs, x.dtype);
  return tape.record(std::move(out), {&x}, [codes, shape, rows, x_shape = x.shape, dtype = x.dtype](Tape& t, Tensors) {
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
  return &tape.parameter(name, std::move(shape), dtype, !adapter.exists());
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
  const bool encoded = adapter.exists() && (adapter.base == BaseStorage::kInt8 || adapter.base == BaseStorage::kNf4);
  DenseLayer made;
  if (encoded) {
    made.inputs = inputs;
    made.outputs = outputs;
    made.encoded = true;
    made.compute = compute;
    const Bytes bytes = encoded_bytes(adapter.base, inputs * outputs, plain_scales);
    made.weight = &tape.parameter(name + ".codes", {bytes.count}, kMaskType, false);
    if (bias) made.bias = parameter(name + ".bias", {outputs});
  } else {
    made = make_plain(name, inputs, outputs, bias);
    made.fp8 = fp8;
  }
  if (!adapter.exists() || !has(adapter, target)) return made;
  made.dropout = dropout;
  made.down = &tape.parameter(name + ".A", {adapter.rank, inputs}, adapters);
  made.up = &tape.parameter(name + ".B", {outputs, adapter.rank}, adapters);
  return made;
}

Tensor dense_layer(Tape& tape, const Tensor& x, const DenseLayer& layer) {
  Tensor out = base_product(tape, x, layer);
  if (layer.down == nullptr) return out;
  if (layer.encoded) out = scale(tape, out);  // a copy, so that the sum may be taken in place
  // PEFT hands adapters what they read in their own type; beside bitsandbytes' layers it leaves that to autocast where there is one.
  const Tensor own = layer.encoded && tape.autocast() ? x : cast(tape, x, layer.down->value.dtype);
  const Tensor low = linear(tape, linear(tape, dropout(tape, own, layer.dropout), {.weight = layer.down}), {.weight = layer.up});
  const Tensor scaled = scale(tape, low);
  return add(tape, out, tape.autocast() ? scaled : cast(tape, scaled, out.dtype));
}

}  // namespace plimsoll
