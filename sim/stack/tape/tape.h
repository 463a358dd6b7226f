#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/stack/optimizer_form.h"
#include "sim/stack/tape/column_sums.h"
#include "sim/stack/tape/place.h"
#include "sim/stack/tape/stack_kernel.h"
#include "sim/stack/tape/tensor.h"

namespace plimsoll {

class Tape;

/// Gradients of a node's inputs from those of its outputs; one that nobody needs is empty.
using Backward = std::function<Tensors(Tape&, Tensors gradients)>;

/// Where the gradient of one input goes.
struct Edge {
  std::shared_ptr<Node> node;
  std::size_t output = 0;
  Parameter* parameter = nullptr;

  [[nodiscard]] bool leads() const { return node != nullptr || parameter != nullptr; }
};

/// One recorded operation. What it saved lives in `backward`.
struct Node {
  std::uint64_t sequence = 0;
  std::uint32_t place = 0;  ///< where it was recorded
  std::size_t outputs = 1;
  std::vector<Edge> next;  ///< one an input, empty where no gradient is needed
  Backward backward;
  std::function<void(Tape&)> prepare;  ///< runs before it: brings back what was put away
  // What the walk of gradients that reached it last knows of it.
  std::uint64_t walk = 0;
  std::size_t visit = 0;
};

/// How linear layers that are computed in 8 bits have their operands.
struct Fp8Rules {
  bool transposes = false;     ///< a transposed copy beside each, as units of Ada and Hopper want it
  bool finds_largest = false;  ///< scales of the present: a pass more over what is cast
  bool keeps_wide = false;     ///< backward casts again from two bytes (torchao)
};

/// What of a GPU and its libraries decides sizes.
struct TapeOptions {
  Bytes product_workspace = Bytes(8519680);  ///< cuBLAS's, one for the forward and one for the backward thread
  Bytes bias_workspace = kMiB;               ///< cuBLASLt's, while a product with a bias runs
  bool compiled = false;                     ///< what backward does not read is not kept, a checkpoint's last product too
  /// A softmax, and that of a loss, keep for backward what they were made from beside what they made: PyTorch before 1.11
  /// (pytorch/pytorch pull request 65242).
  bool softmax_keeps_input = false;
  bool recomputes_attention = false;  ///< selective checkpoints keep products alone
  Fp8Rules fp8 = {};  ///< of layers that are computed in 8 bits
  bool channels_last = false;         ///< feature maps are stored pixel by pixel
  bool stops_early = false;           ///< a checkpoint's second run ends before a last product of which nothing is kept
  OptimizerForm optimizer_form = {};
  SumBlocks sum_blocks = {};  ///< for the buffers of sums over rows; trackers of tensors do not see them
};

/// Results that a selective checkpoint keeps while its segment runs, and hands out when it runs again: those of every other
/// product, of fused attention and of sums over tensor ranks, as operator-level checkpointing does it by default.
struct KeptResults {
  std::deque<Tensors> kept;
  bool ends_with_collective = false;
  std::int64_t products = 0;
  bool again = false;
};

/// Records a framework's eager execution without numbers: tensors are born and die as its reference counts have it, operations
/// note what backward needs, kernels are listed. Not thread-safe.
class Tape {
 public:
  explicit Tape(TapeOptions options = {});

  [[nodiscard]] const TapeOptions& options() const { return options_; }

  // Tensors.
  Tensor empty(Shape shape, DType dtype);
  Tensor empty(Shape shape, DType dtype, Holding holding, std::uint8_t stream = 0);
  /// A parameter of the model; it lives as long as the tape.
  Parameter& parameter(std::string name, Shape shape, DType dtype, bool trained = true);
  [[nodiscard]] std::deque<Parameter>& parameters() { return parameters_; }
  /// While true, parameters are made without memory: somebody shares them out before they get any.
  void without_memory(bool without) { without_memory_ = without; }

  // Recording.
  /// `out` made from `inputs`: remembers how gradients flow back where one is needed, and forgets `backward` (with what it
  /// saved) otherwise.
  Tensor record(Tensor out, const std::vector<const Tensor*>& inputs, Backward backward);
  Tensors record_all(Tensors outs, const std::vector<const Tensor*>& inputs, Backward backward);
  [[nodiscard]] bool grad_enabled() const { return grad_enabled_; }
  /// Runs `work` without recording.
  void without_grad(const std::function<void()>& work);
  void with_grad(const std::function<void()>& work);
  /// Runs `work` in an autocast region; casts of trained weights are kept until the outermost one ends.
  void with_autocast(std::optional<DType> dtype, const std::function<void()>& work);
  [[nodiscard]] std::optional<DType> autocast() const { return autocast_; }
  /// `tensor` in the type that autocast asks for (or as it is); weights come from the region's cache.
  Tensor as_autocast(const Tensor& tensor);

  /// Propagates from `root` to the parameters; `gradient` is taken over.
  void backward(const Tensor& root, Tensor gradient);
  /// The same for some tensors at once (a checkpoint's outputs), handing out gradients of `inputs`.
  Tensors backward_to(const Tensors& roots, Tensors gradients, const Tensors& inputs);
  /// A walk of gradients begins, within others maybe; the last that began ends first.
  std::uint64_t begin_walk();
  void end_walk() { walks_.pop_back(); }
  /// Whether it began and did not end.
  [[nodiscard]] bool walks(std::uint64_t walk) const;

  // Kernels.
  void launch(StackKernel kernel);
  /// An elementwise kernel over so many bytes.
  void stream(double bytes, DType dtype = DType::kFp32);
  /// From now on such kernels are of a net whose tensors are feature maps.
  void streams_over_planes() { stream_sort_ = StackKernelSort::kPlanes; }
  /// A pass that no compiler makes shorter: a cast to 8 bits, a transposition there, a loss that it wrote itself.
  void pass(double bytes, DType dtype);
  /// A product, with the library's workspace when it is the thread's first. `result`: what is written; nothing: as its operands.
  void product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DType dtype, std::optional<DType> result = {});

  /// The same of a left operand that lies as [k, m]: a weight's gradient, which sums over the rows of both operands.
  void turned_product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DType dtype);
  /// Holds cuBLASLt's workspace for a moment.
  void bias_workspace();
  /// A sum over the rows of [.., columns] into `sum`: holds its buffer for a moment.
  void sum_rows(const Tensor& x, const Tensor& sum);

  /// What a product, attention or a sum over ranks makes: new tensors, or those that a selective checkpoint kept. `make` also launches.
  Tensors results_of(StackKernelSort sort, const std::function<Tensors()>& make);
  [[nodiscard]] bool is_compiled() const { return options_.compiled; }
  /// Runs `work` with those results kept or handed out.
  void with_kept(KeptResults& kept, const std::function<void()>& work);

  // Where we are.
  void step(std::int64_t step) { step_ = step; }
  [[nodiscard]] std::int64_t step() const { return step_; }
  /// A pass of another kind than the one before is a turn of its own.
  void phase(Phase phase) {
    if (phase != phase_) ++turn_;
    phase_ = phase;
  }
  /// So is this one, though it is of the same kind.
  void next_turn() { ++turn_; }
  [[nodiscard]] Phase phase() const { return phase_; }
  void at(std::string what);
  /// Calls `moved` with the name of every place that is entered.
  void on_move(std::function<void(const std::string&)> moved) { moved_ = std::move(moved); }
  /// Backward of what was recorded at that place.
  void return_to(std::uint32_t place);
  /// Recomputation of a forward pass: the kernels' arithmetic is not the model's own.
  void again(bool again) { again_ = again; }
  [[nodiscard]] bool is_again() const { return again_; }

  [[nodiscard]] const StorageLog& log() const { return *log_; }
  [[nodiscard]] StorageLog& log() { return *log_; }
  [[nodiscard]] const std::vector<StackKernel>& kernels() const { return kernels_; }
  void forget_kernels() { kernels_.clear(); }
  /// Forgets the last product since the kernel of that index, with what follows it and what they made, if nothing of that is alive.
  void forget_last_product(std::size_t first);
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }

 private:
  [[nodiscard]] bool holds_any_since(std::uint64_t event) const;

  TapeOptions options_;
  std::shared_ptr<StorageLog> log_;
  std::deque<Parameter> parameters_;
  std::vector<StackKernel> kernels_;
  std::vector<Place> places_;
  std::map<Parameter*, Tensor> cast_weights_;
  Tensor forward_workspace_;
  Tensor backward_workspace_;
  StackKernelSort stream_sort_ = StackKernelSort::kStream;
  std::optional<DType> autocast_;
  int autocast_depth_ = 0;
  bool grad_enabled_ = true;
  bool again_ = false;
  bool without_memory_ = false;
  KeptResults* kept_ = nullptr;
  std::function<void(const std::string&)> moved_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t last_walk_ = 0;
  std::vector<std::uint64_t> walks_;
  std::int64_t step_ = 0;
  Phase phase_ = Phase::kForward;
  std::uint32_t turn_ = 0;
};

}  // namespace plimsoll
