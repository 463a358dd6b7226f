#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "executor/kernels/launch.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::test {

/// Runs the ops of a graph in their order with one block of memory a tensor: no plan, no arena, no queue. What nothing
/// has written yet is NaN.
class GraphRun {
 public:
  /// `graph` must be built for at least `workers` and outlive this.
  GraphRun(const Graph& graph, std::int64_t workers);

  /// From now on every value that a bf16-mixed step stores in two bytes is rounded to bf16 when it is written, and the
  /// weights are rounded at once: the storage of mixed precision with the arithmetic of fp32.
  void store_in_bf16();

  /// Runs the ops of the given phase; `step` is the optimizer step.
  void run(Phase phase, std::int64_t step = 0);
  /// The whole step; returns its loss.
  double run_step(std::int64_t step = 0);

  /// Elements of a tensor (views included) as T, which must be its type.
  template <typename T>
  std::span<T> values(TensorId id) {
    return {reinterpret_cast<T*>(view(id).data), static_cast<std::size_t>(graph_->at(id).elements)};
  }

  /// Elements of a tensor of any real type, as doubles.
  [[nodiscard]] std::vector<double> numbers(TensorId id);

  /// First tensor of a kind that is no view, of a parameter group where one is given.
  [[nodiscard]] TensorId find(TensorKind kind, GroupId group = {}) const;

  /// Fills parameters (small random numbers, norm weights near 1), moments (0) and the batch (random) from a seed.
  void initialize(std::uint32_t seed);
  /// Another batch: every token moved on by so many, every pixel by a hundredth of it.
  void shift_batch(std::int32_t by);
  /// The loss of the last forward pass, with the auxiliary losses of experts.
  double loss();
  /// What the routers of the last forward pass chose, one after another: rows of tokens, −1 where an expert refused.
  std::vector<std::int32_t> routing();

 private:
  OperandView view(TensorId id, Access access = Access::kRead);
  void round_to_bf16(TensorId id);
  /// Stores a number in the tensor's own type.
  void put(TensorId id, std::int64_t element, double number);
  void fill_parameters(std::uint32_t seed);
  void fill_batch(std::uint32_t seed);

  const Graph* graph_;
  std::vector<std::vector<double>> memory_;  ///< by tensor; empty for views
  std::vector<char> stored_in_bf16_;         ///< by tensor
  WorkerPool pool_;
  MatrixProduct product_;
};

}  // namespace plimsoll::test
