#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/model/dtype.h"
#include "sim/stack/tape/storage_log.h"

namespace plimsoll {

using Shape = std::vector<std::int64_t>;

/// Bytes of an element that PyTorch has in 8 bytes: indices.
inline constexpr DType kIndexType = DType::kFp64;
/// One byte an element: masks.
inline constexpr DType kMaskType = DType::kUint8;

/// In place of an order: rows that are parts of wider ones.
inline constexpr std::uint8_t kStrided = 255;

struct Node;

/// Graphs have tensors, and chat templates parameters, of their own.
inline namespace eager {

struct Parameter;

/// A tensor without numbers: sizes, a type, the storage that it holds, and how its gradient goes on. A copy is another
/// reference to the same storage, as a Python name is.
struct Tensor {
  std::shared_ptr<Storage> storage;  ///< nothing: no tensor
  Shape shape;
  DType dtype = DType::kFp32;
  /// Which dimension lies outermost in memory, which next …; empty: as in the shape. A part of wider rows has kStrided.
  std::vector<std::uint8_t> order;
  std::shared_ptr<Node> maker;       ///< of what autograd recorded; nothing for leaves and what needs no gradient
  std::size_t output = 0;            ///< of its maker
  Parameter* parameter = nullptr;    ///< a trained leaf
  bool is_view = false;              ///< of a tensor that lives as long, or one that Python made in a backward pass: nothing is added to it in place

  [[nodiscard]] explicit operator bool() const { return storage != nullptr; }
  [[nodiscard]] bool needs_gradient() const;
  [[nodiscard]] bool contiguous() const { return order.empty(); }
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] Bytes bytes() const { return Bytes(elements() * size_of(dtype)); }
  [[nodiscard]] std::int64_t size(int dimension) const;
  /// The same values without a history.
  [[nodiscard]] Tensor detached() const;
};

using Tensors = std::vector<Tensor>;

/// A list of one: what a node of one input gives back.
Tensors only(Tensor gradient);

/// Bytes of x, as kernels that read or write it count them.
double traffic(const Tensor& x);

/// A trained (or frozen) leaf.
struct Parameter {
  std::string name;
  Tensor value;
  Tensor gradient;
  bool trained = true;
  bool of_expert = false;  ///< one of the experts that ranks share out, of which fewer ranks have a copy
  /// Of its elements those of blocks' matrices, which Muon orthogonalizes; a flat one of many has as many as they have.
  std::int64_t hidden_matrices = 0;
  std::vector<Tensor> states;  ///< of the optimizer
  std::vector<Tensor> low;     ///< copies in 8 bits that stay over micro-batches, and the step that they are of
  std::int64_t low_of_step = -1;
  std::function<void(Parameter&)> after_gradient;  ///< runs when a gradient has been accumulated

  /// The tensor that a forward pass reads.
  [[nodiscard]] Tensor use();
};

}  // namespace eager

std::int64_t elements_of(const Shape& shape);

}  // namespace plimsoll
