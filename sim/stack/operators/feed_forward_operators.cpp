#include "sim/stack/operators/fused_operations.h"
#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/operators/tiled.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Gated feed-forward layers without biases: down(activation(gate(x)) · up(x)).
struct GatedLayer {
  Parameter* gate = nullptr;
  Parameter* up = nullptr;
  Parameter* down = nullptr;
};

using GatedForward = Tensor (*)(Tape& tape, const GatedLayer& layer, const Tensor& x);

/// PyTorch's own operations as one expression: its factors go once they are multiplied unless autograd keeps them.
Tensor plain(Tape& tape, const GatedLayer& layer, const Tensor& x) {
  Tensor product;
  {
    const Tensor activated = from_input(tape, linear(tape, x, {.weight = layer.gate}));
    product = multiply(tape, activated, linear(tape, x, {.weight = layer.up}));
  }
  return linear(tape, product, {.weight = layer.down});
}

/// One kernel for activation and product; gate and up have names until the end.
Tensor fused(Tape& tape, const GatedLayer& layer, const Tensor& x) {
  const Tensor gate = linear(tape, x, {.weight = layer.gate});
  const Tensor up = linear(tape, x, {.weight = layer.up});
  return linear(tape, fused_gated_product(tape, gate, up), {.weight = layer.down});
}

struct Prepared {
  Parameter* x = nullptr;
  GatedLayer layer;
};

Prepared prepare(Tape& tape, const OperatorCase& asked, std::int64_t batch) {
  const std::int64_t hidden = asked["hidden_size"];
  const std::int64_t inner = asked["intermediate_size"];
  return {.x = &tape.parameter("x", {batch, asked["T"], hidden}, asked.dtype),
          .layer = {.gate = &tape.parameter("gate", {inner, hidden}, asked.dtype),
                    .up = &tape.parameter("up", {inner, hidden}, asked.dtype),
                    .down = &tape.parameter("down", {hidden, inner}, asked.dtype)}};
}

OperatorTest whole(Tape& tape, const OperatorCase& asked, GatedForward forward) {
  const Prepared made = prepare(tape, asked, asked.has("bsz") ? asked["bsz"] : asked["B"]);
  return {.held = {},
          .forward = [&tape, made, forward] { return Tensors{forward(tape, made.layer, leaf(tape, *made.x))}; },
          .retains_graph = true};
}

OperatorTest in_tiles(Tape& tape, const OperatorCase& asked, GatedForward forward) {
  const Prepared made = prepare(tape, asked, asked["bsz"]);
  return {.held = {},
          .forward =
              [&tape, made, forward, tiles = asked["num_shards"]] {
                return Tensors{tiled(tape, leaf(tape, *made.x), tiles, [&tape, made, forward](const Tensor& tile) {
                  return forward(tape, made.layer, tile);
                })};
              },
          .retains_graph = true};
}

OperatorTest plain_layer(Tape& tape, const OperatorCase& asked) { return whole(tape, asked, plain); }
OperatorTest fused_layer(Tape& tape, const OperatorCase& asked) { return whole(tape, asked, fused); }
OperatorTest plain_tiles(Tape& tape, const OperatorCase& asked) { return in_tiles(tape, asked, plain); }
OperatorTest fused_tiles(Tape& tape, const OperatorCase& asked) { return in_tiles(tape, asked, fused); }

}  // namespace

OperatorPrograms feed_forward_programs() {
  const std::vector<std::string_view> sizes{"T", "bsz|B", "hidden_size", "intermediate_size"};
  OperatorPrograms all;
  for (const std::string_view kernel : {"swiglu", "geglu"}) {
    all.push_back({kernel, "huggingface", sizes, plain_layer});
    all.push_back({kernel, "liger", sizes, fused_layer});
  }
  const std::vector<std::string_view> tiled_sizes{"T", "bsz", "hidden_size", "intermediate_size", "num_shards"};
  for (const std::string_view kernel : {"tiled_swiglu", "tiled_geglu"}) {
    all.push_back({kernel, "huggingface", tiled_sizes, plain_layer});
    all.push_back({kernel, "liger", tiled_sizes, fused_layer});
    all.push_back({kernel, "deepspeed_tiled", tiled_sizes, plain_tiles});
    all.push_back({kernel, "liger_tiled", tiled_sizes, fused_tiles});
  }
  return all;
}

}  // namespace plimsoll
