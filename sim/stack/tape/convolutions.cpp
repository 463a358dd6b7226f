#include "sim/stack/tape/convolutions.h"

namespace plimsoll {
namespace {

Tensor like(Tape& tape, const Tensor& x) { return tape.empty(x.shape, x.dtype); }

void launch(Tape& tape, const Tensor& x, const Tensor& y, const ConvolutionCall& call, bool backward) {
  const std::int64_t channels = call.made[1];
  const std::int64_t rows = elements_of(call.made) / channels;
  tape.launch({.sort = StackKernelSort::kConvolution, .dtype = x.dtype, .backward = backward, .m = rows, .n = channels,
               .k = call.inputs_per_output,
               .flops = 2.0 * static_cast<double>(rows) * static_cast<double>(channels) * static_cast<double>(call.inputs_per_output),
               .bytes = traffic(x) + traffic(y)});
  // Matrix units want a pixel's channels side by side; in planes they are far apart, but where a window is one pixel the planes
  // are a matrix as they stand.
  const bool is_matrix = call.inputs_per_output == x.shape[1] && elements_of(x.shape) / x.shape[1] == rows;
  if (tape.options().channels_last || is_matrix || size_of(x.dtype) != 2) return;
  tape.launch({.sort = StackKernelSort::kRelayout, .dtype = x.dtype, .bytes = 2 * (traffic(x) + traffic(y))});
}

/// A norm's passes: in planes a block of threads walks over a channel, which stands in as many places as there are images. No compiler
/// makes them fewer: nothing is divided by a deviation before all was read.
void norm_passes(Tape& tape, double bytes, DType dtype) {
  if (tape.options().channels_last && !tape.is_compiled()) return tape.stream(bytes, dtype);
  tape.launch({.sort = StackKernelSort::kBatchNorm, .dtype = dtype, .bytes = bytes});
}

}  // namespace

Tensor convolution(Tape& tape, const Tensor& input, const Weights& weights, const ConvolutionCall& call) {
  const Tensor x = tape.as_autocast(input);
  const Tensor weight = tape.as_autocast(weights.weight->use());
  const Tensor bias = weights.bias != nullptr ? tape.as_autocast(weights.bias->use()) : Tensor{};
  Tensor out = tape.empty(call.made, x.dtype);
  launch(tape, x, out, call, false);
  if (bias) tape.stream(2 * traffic(out), out.dtype);  // PyTorch adds it to what cuDNN wrote
  const bool needs_x = x.needs_gradient();
  return tape.record(std::move(out), {&x, &weight, &bias},
                     [saved = x.detached(), kept = weight.detached(), call, needs_x, has_bias = bool(bias)](Tape& t, Tensors gradients) {
                       Tensors results(3);
                       if (needs_x) {
                         results[0] = like(t, saved);
                         launch(t, saved, gradients[0], call, true);
                       }
                       results[1] = like(t, kept);
                       launch(t, saved, gradients[0], call, true);
                       if (has_bias) {
                         results[2] = t.empty({call.made[1]}, kept.dtype);
                         t.stream(traffic(gradients[0]), kept.dtype);
                       }
                       return results;
                     });
}

Tensor batch_norm(Tape& tape, const Tensor& x, const Weights& weights) {
  const Tensor weight = weights.weight->use();
  const Tensor bias = weights.bias->use();
  const Tensor mean = tape.empty(weight.shape, DType::kFp32);
  const Tensor root = tape.empty(weight.shape, DType::kFp32);
  Tensor out = like(tape, x);
  norm_passes(tape, 3 * traffic(x), x.dtype);  // once for the statistics, once for the numbers
  return tape.record(std::move(out), {&x, &weight, &bias}, [saved = x.detached(), mean, root, weight](Tape& t, Tensors gradients) {
    Tensors results;
    results.push_back(like(t, saved));
    results.push_back(t.empty(weight.shape, weight.dtype));
    results.push_back(t.empty(weight.shape, weight.dtype));
    norm_passes(t, 3 * traffic(saved) + 2 * traffic(gradients[0]), saved.dtype);
    return results;
  });
}

Tensor relu_in_place(Tape& tape, const Tensor& x) {
  tape.stream(2 * traffic(x), x.dtype);
  const Tensor saved = x.detached();
  return tape.record(x.detached(), {&x}, [saved](Tape& t, Tensors gradients) {
    t.stream(3 * traffic(saved), saved.dtype);
    return only(like(t, gradients[0]));
  });
}

Tensor max_pool(Tape& tape, const Tensor& x, Shape made, std::int64_t bits_of_place) {
  Tensor out = tape.empty(std::move(made), x.dtype);
  const Tensor places = tape.empty({(out.elements() * bits_of_place + 7) / 8}, kMaskType);
  tape.stream(traffic(x) + traffic(out) + traffic(places), x.dtype);
  return tape.record(std::move(out), {&x}, [saved = x.detached(), places](Tape& t, Tensors gradients) {
    t.stream(traffic(saved) + traffic(gradients[0]) + traffic(places), saved.dtype);
    return only(like(t, saved));
  });
}

Tensor average_pool(Tape& tape, const Tensor& x, Shape made) {
  Tensor out = tape.empty(std::move(made), x.dtype);
  tape.stream(traffic(x) + traffic(out), x.dtype);
  return tape.record(std::move(out), {&x}, [saved = x.detached()](Tape& t, Tensors gradients) {
    t.stream(traffic(saved) + traffic(gradients[0]), saved.dtype);
    return only(like(t, saved));
  });
}

Tensor add_in_place(Tape& tape, const Tensor& a, const Tensor& b) {
  tape.stream(3 * traffic(a), a.dtype);
  return tape.record(a.detached(), {&a, &b}, [](Tape&, Tensors gradients) {
    Tensors results;
    results.push_back(gradients[0]);
    results.push_back(gradients[0]);
    return results;
  });
}

}  // namespace plimsoll
