#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/op.h"
#include "core/model/dtype.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// What bounds a launch of a recorded operation.
enum class LaunchSort : std::uint8_t { kProduct, kAttention, kConvolution, kStream };

/// One kernel of an operation: batch × [m, k] · [k, n], or attention of m queries on n keys of k elements over `batch` heads, or
/// whatever moves `bytes`.
struct GraphLaunch {
  LaunchSort sort = LaunchSort::kStream;
  DType dtype = DType::kFp32;
  bool backward = false;  ///< of attention
  bool causal = false;
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double flops = 0;  ///< two a multiplication with its addition
  double bytes = 0;  ///< read and written
};

/// A storage that becomes a parameter's gradient.
struct GraphGradient {
  std::uint32_t parameter = 0;
  std::uint32_t storage = 0;
};

/// One operation of the step, with the memory that comes with it and goes after it. Indices are into StepGraph::storages.
struct GraphOp {
  std::string name;  ///< "addmm"
  std::string at;    ///< the module: "transformer.h.0.mlp"
  Phase phase = Phase::kForward;
  bool again = false;  ///< of a forward pass that backward runs once more
  std::vector<std::uint32_t> reads;
  std::vector<std::uint32_t> makes;
  std::vector<std::uint32_t> frees;  ///< nobody holds them from the next operation on
  std::vector<GraphGradient> gradients;
  std::vector<GraphLaunch> launches;
};

struct GraphParameter {
  std::string name;
  std::uint32_t storage = 0;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kFp32;
  bool trained = true;
};

/// Forward and backward pass of one micro-batch as a framework ran them: operations in their order, what each costs, and when
/// memory comes and goes (docs/graph-format.md). The optimizer is none of it.
struct StepGraph {
  std::string name;
  std::string source;  ///< who recorded it
  std::int64_t samples = 1;
  std::optional<std::int64_t> tokens_per_sample;  ///< of texts
  Precision precision = Precision::kFp32;
  std::vector<Bytes> storages;
  std::vector<GraphParameter> parameters;
  std::vector<std::uint32_t> buffers;  ///< there all the time
  std::vector<std::uint32_t> inputs;   ///< of the micro-batch, there all the time
  std::uint32_t loss = 0;
  Bytes saved;  ///< made in forward and kept for backward
  std::vector<GraphOp> ops;

  /// Elements of all parameters; a tied one counts once.
  [[nodiscard]] std::int64_t parameter_count() const;
};

/// Whether a file says of itself that it is a step graph. Files that cannot be read say nothing.
bool is_step_graph_file(const std::string& path);

/// Reads a step graph; errors name the file and the key. What it returns is consistent: every storage is made once, before it is
/// read or freed, and freed at most once.
Result<StepGraph> read_step_graph(std::string_view text, const std::string& where);

}  // namespace plimsoll
