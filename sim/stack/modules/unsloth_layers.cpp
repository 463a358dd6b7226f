#include "sim/stack/modules/unsloth_layers.h"

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

/// What backward needs of a layer: its matrix as it is kept, and its sizes.
struct Adapted {
  Tensor codes;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t rank = 0;
  bool encoded = false;
};

Adapted adapted(const DenseLayer& layer) {
  return {.codes = layer.weight->value, .inputs = layer.inputs, .outputs = layer.outputs, .rank = layer.adapter.down->value.shape[0], .encoded = layer.encoded};
}

std::int64_t rows_of(const Tensor& x) { return x.elements() / x.size(-1); }

/// Decodes into memory that is there.
void decode(Tape& tape, const Adapted& layer, DType dtype) {
  if (layer.encoded) tape.stream(traffic(layer.codes) + static_cast<double>(layer.inputs * layer.outputs * size_of(dtype)), dtype);
}

Tensor decoded(Tape& tape, const Adapted& layer, DType dtype) {
  if (!layer.encoded) return {};
  decode(tape, layer, dtype);
  return tape.empty({layer.outputs, layer.inputs}, dtype);
}

/// [rows, from] · [from, to], and the adapter's part added to it.
Tensor product(Tape& tape, const Tensor& x, const Adapted& layer, std::int64_t from, std::int64_t to) {
  const std::int64_t rows = rows_of(x);
  Shape shape = x.shape;
  shape.back() = to;
  decode(tape, layer, x.dtype);
  Tensor out = tape.empty(std::move(shape), x.dtype);
  tape.product(1, rows, to, from, x.dtype);
  const Tensor low = tape.empty({rows, layer.rank}, x.dtype);
  tape.product(1, rows, layer.rank, from, x.dtype);
  tape.product(1, rows, to, layer.rank, x.dtype);
  tape.stream(traffic(out), x.dtype);  // what the product is added to is read
  return out;
}

Tensor forward_product(Tape& tape, const Tensor& x, const DenseLayer& layer) {
  return product(tape, x, adapted(layer), layer.inputs, layer.outputs);
}

/// Gradients of both matrices in the products' type, from what the layer read and its result's gradient.
void add_gradients(Tape& tape, const Tensor& x, const Tensor& dy, const Adapted& layer, Tensors& results) {
  const std::int64_t rows = rows_of(x);
  const Tensor back = tape.empty({rows, layer.rank}, dy.dtype);
  tape.product(1, rows, layer.rank, layer.outputs, dy.dtype);
  results.push_back(tape.empty({layer.rank, layer.inputs}, dy.dtype));
  tape.turned_product(1, layer.inputs, layer.rank, rows, dy.dtype);
  const Tensor low = tape.empty({layer.rank, rows}, dy.dtype);
  tape.product(1, layer.rank, rows, layer.inputs, dy.dtype);
  results.push_back(tape.empty({layer.outputs, layer.rank}, dy.dtype));
  tape.product(1, layer.rank, layer.outputs, rows, dy.dtype);
}

/// Adds the layer's part to the input's gradient.
void add_input_gradient(Tape& tape, const Tensor& dx, const Tensor& dy, const Adapted& layer) {
  const std::int64_t rows = rows_of(dx);
  const Tensor weight = decoded(tape, layer, dy.dtype);
  tape.product(1, rows, layer.inputs, layer.outputs, dy.dtype);
  const Tensor back = tape.empty({rows, layer.rank}, dy.dtype);
  tape.product(1, rows, layer.rank, layer.outputs, dy.dtype);
  tape.product(1, rows, layer.inputs, layer.rank, dy.dtype);
  tape.stream(2 * traffic(dx), dx.dtype);  // twice what was there is read
}

/// Inputs of a function: what it reads, and the adapters'.
struct Inputs {
  explicit Inputs(const Tensor& x, const std::vector<const DenseLayer*>& layers) : input(x) {
    for (const DenseLayer* layer : layers) {
      matrices.push_back(layer->adapter.down->use());
      matrices.push_back(layer->adapter.up->use());
    }
  }
  [[nodiscard]] std::vector<const Tensor*> all() const {
    std::vector<const Tensor*> list{&input};
    for (const Tensor& matrix : matrices) list.push_back(&matrix);
    return list;
  }
  Tensor input;
  Tensors matrices;
};

}  // namespace

bool takes_adapters(const std::vector<const DenseLayer*>& layers) {
  return std::all_of(layers.begin(), layers.end(), [](const DenseLayer* layer) {
    return layer->adapter.method == AdapterMethod::kLora && layer->adapter.down != nullptr && layer->bias == nullptr;
  });
}

Tensors adapted_products(Tape& tape, const Tensor& input, const std::vector<const DenseLayer*>& layers, bool overwrites) {
  const Tensor x = tape.as_autocast(input);
  Tensors outs;
  std::vector<Adapted> kept;
  for (const DenseLayer* layer : layers) {
    outs.push_back(forward_product(tape, x, *layer));
    kept.push_back(adapted(*layer));
  }
  return tape.record_all(std::move(outs), Inputs(x, layers).all(), [kept, overwrites, saved = x.detached()](Tape& t, Tensors gradients) {
    Tensors results(1);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      gradients[i] = contiguous(t, gradients[i].detached());
      add_gradients(t, saved, gradients[i], kept[i], results);
    }
    results[0] = overwrites ? saved : t.empty(saved.shape, saved.dtype);
    for (std::size_t i = 0; i < kept.size(); ++i) add_input_gradient(t, results[0], gradients[i], kept[i]);
    return results;
  });
}

Tensor adapted_feed_forward(Tape& tape, const Tensor& input, const FeedForwardWeights& weights) {
  const Tensor x = tape.as_autocast(input);
  const Tensor gate = forward_product(tape, x, weights.in[0]);
  const Tensor up = forward_product(tape, x, weights.in[1]);
  const Tensor inner = tape.empty(gate.shape, gate.dtype);
  tape.stream(3 * traffic(inner), inner.dtype);
  Tensor out = forward_product(tape, inner, weights.out);
  const std::vector<const DenseLayer*> layers{&weights.in[0], &weights.in[1], &weights.out};
  return tape.record(std::move(out), Inputs(x, layers).all(),
                     [saved = x.detached(), gate, up, g = adapted(weights.in[0]), u = adapted(weights.in[1]), d = adapted(weights.out)](
                         Tape& t, Tensors gradients) {
                       const Tensor wide = product(t, gradients[0], d, d.outputs, d.inputs);
                       t.stream(6 * traffic(wide), wide.dtype);
                       Tensors results{saved};  // the input's gradient takes its place
                       add_gradients(t, saved, gate, g, results);
                       add_gradients(t, saved, up, u, results);
                       add_gradients(t, wide, gradients[0], d, results);
                       add_input_gradient(t, saved, up, u);
                       add_input_gradient(t, saved, gate, g);
                       return results;
                     });
}

Tensor decoding_scratch(Tape& tape, const std::vector<BlockWeights>& blocks) {
  std::int64_t largest = 0;
  DType dtype = DType::kFp32;
  for (const BlockWeights& block : blocks) {
    std::vector<const DenseLayer*> layers{&block.projection, &block.feed.out};
    for (const DenseLayer& layer : block.qkv) layers.push_back(&layer);
    for (const DenseLayer& layer : block.feed.in) layers.push_back(&layer);
    for (const DenseLayer* layer : layers) {
      if (!layer->encoded) continue;
      largest = std::max(largest, layer->inputs * layer->outputs);
      dtype = layer->compute;
    }
  }
  return largest > 0 ? tape.empty({largest}, dtype, Holding::kWorkspace) : Tensor{};
}

}  // namespace plimsoll
