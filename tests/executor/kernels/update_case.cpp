#include "tests/executor/kernels/update_case.h"

#include <cstring>
#include <map>
#include <random>

#include "core/graph/op_work.h"
#include "executor/kernels/launch.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::test {
namespace {

ParameterGroup group_of(const std::vector<UpdatedTensor>& tensors) {
  ParameterGroup group{.name = "tested", .block = 0, .tensors = {}};
  for (const UpdatedTensor& tensor : tensors) {
    group.tensors.push_back({.role = ParameterRole::kQkvWeight, .rows = tensor.rows, .columns = tensor.columns,
                             .offset = group.elements, .decays = tensor.decays});
    group.elements += group.tensors.back().elements();
    if (tensor.decays) group.decaying_elements = group.elements;
  }
  return group;
}

template <typename T>
std::vector<std::byte> packed(const std::vector<std::vector<double>>& tensors) {
  std::vector<std::byte> bytes;
  for (const auto& tensor : tensors) {
    std::vector<T> typed(tensor.begin(), tensor.end());
    const auto* begin = reinterpret_cast<const std::byte*>(typed.data());
    bytes.insert(bytes.end(), begin, begin + typed.size() * sizeof(T));
  }
  return bytes;
}

/// Weights (kParameter) and states in memory.
using Memory = std::map<TensorKind, std::vector<std::byte>>;

OperandView view(std::vector<std::byte>& memory, std::int64_t offset, std::int64_t bytes, Access access) {
  return {.data = memory.data() + offset, .bytes = Bytes(bytes), .access = access};
}

void launch_part(const Recipe& recipe, const UpdatePart& part, Memory& old, Memory& next, std::vector<std::byte>& gradient,
                 std::int64_t step, const UpdateOptions& options, WorkerPool& pool) {
  const std::int64_t size = size_of(options.dtype);
  const Access access = options.versions ? Access::kRead : Access::kReadWrite;
  const auto states_of = [&](Memory& memory, Access how) {
    std::vector<OperandView> views{view(memory[TensorKind::kParameter], part.offset * size, part.elements * size, how)};
    for (const StateRange& state : part.states) {
      const std::int64_t each = size_of(state.dtype);
      views.push_back(view(memory[state.kind], state.offset * each, state.elements * each, how));
    }
    return views;
  };
  std::vector<OperandView> operands = states_of(old, access);
  operands.push_back(view(gradient, part.offset * size, part.elements * size, Access::kRead));
  double factor[2] = {options.factor, 1};
  if (options.factor != 0) operands.push_back({reinterpret_cast<std::byte*>(factor), Bytes(16), Access::kRead});
  if (options.versions) {
    for (const OperandView& fresh : states_of(next, Access::kWrite)) operands.push_back(fresh);
  }
  const bool needs_room = part.kind == OpKind::kSm3 || part.kind == OpKind::kMuon;
  const Bytes room = needs_room ? workspace_of(part.kind, part.shape, options.dtype, options.workers) : Bytes(0);
  std::vector<double> scratch(static_cast<std::size_t>(room.count / 8 + 1), std::nan(""));
  if (room > Bytes(0)) operands.push_back({reinterpret_cast<std::byte*>(scratch.data()), room, Access::kWrite});
  static const MatrixProduct product(MatmulLibrary::kOneDnn);
  launch({.kind = part.kind, .dtype = options.dtype, .shape = part.shape}, operands,
         {.pool = &pool, .product = &product, .recipe = &recipe, .rope_scaling = {}, .step = step});
}

}  // namespace

std::vector<UpdatedTensor> updated_tensors() {
  std::vector<UpdatedTensor> tensors{{301, 251, true, {}}, {3, 5, true, {}}, {1, 7, false, {}}, {1, 4099, false, {}}};
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (UpdatedTensor& tensor : tensors) {
    for (std::int64_t i = 0; i < tensor.rows * tensor.columns; ++i) tensor.weights.push_back(uniform(random));
  }
  return tensors;
}

std::vector<std::vector<double>> gradients_of(const std::vector<UpdatedTensor>& tensors, std::int64_t step) {
  std::mt19937 random(static_cast<std::uint32_t>(100 + step));
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<double>> gradients;
  for (const UpdatedTensor& tensor : tensors) {
    std::vector<double>& of = gradients.emplace_back();
    for (std::size_t i = 0; i < tensor.weights.size(); ++i) of.push_back(i % 11 == 5 ? 0.0F : uniform(random));
  }
  return gradients;
}

std::vector<std::vector<double>> run_updates(const Recipe& given, std::int64_t steps, const UpdateOptions& options) {
  Recipe recipe = given;
  recipe.precision = options.dtype == DType::kFp64 ? Precision::kFp64 : Precision::kFp32;
  const auto pack = options.dtype == DType::kFp64 ? packed<double> : packed<float>;
  const std::vector<UpdatedTensor> tensors = updated_tensors();
  const ParameterGroup group = group_of(tensors);
  std::vector<std::vector<double>> weights;
  for (const UpdatedTensor& tensor : tensors) weights.push_back(tensor.weights);
  Memory old{{TensorKind::kParameter, pack(weights)}};
  for (const OptimizerState& state : optimizer_states(recipe, group)) {
    old[state.kind].resize(static_cast<std::size_t>(state.bytes().count));
  }
  WorkerPool pool(options.workers, options.shuffle);
  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<std::byte> gradient = pack(gradients_of(tensors, step));
    Memory next = old;
    if (options.versions) {
      for (auto& [kind, bytes] : next) std::memset(bytes.data(), 0xff, bytes.size());
    }
    const Memory before = old;
    for (const UpdatePart& part : update_parts(recipe, group)) {
      launch_part(recipe, part, old, next, gradient, step, options, pool);
    }
    if (options.versions && old != before) throw std::logic_error("an update wrote the version before");
    if (options.versions) old = next;
  }
  const std::vector<std::byte>& bytes = old[TensorKind::kParameter];
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    for (std::size_t i = 0; i < weights[t].size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(group.tensors[t].offset) + i;
      if (options.dtype == DType::kFp64) {
        weights[t][i] = reinterpret_cast<const double*>(bytes.data())[at];
      } else {
        weights[t][i] = static_cast<double>(reinterpret_cast<const float*>(bytes.data())[at]);
      }
    }
  }
  return weights;
}

}  // namespace plimsoll::test
