#include "sim/stack/tape/tensor.h"

#include <utility>

namespace plimsoll {

std::int64_t elements_of(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

bool Tensor::needs_gradient() const { return maker != nullptr || (parameter != nullptr && parameter->trained); }

std::int64_t Tensor::elements() const { return elements_of(shape); }

std::int64_t Tensor::size(int dimension) const {
  return dimension < 0 ? shape[shape.size() - static_cast<std::size_t>(-dimension)] : shape[static_cast<std::size_t>(dimension)];
}

Tensor Tensor::detached() const {
  Tensor copy = *this;
  copy.maker = nullptr;
  copy.output = 0;
  copy.parameter = nullptr;
  return copy;
}

inline namespace eager {

Tensors only(Tensor gradient) {
  Tensors all;
  all.push_back(std::move(gradient));
  return all;
}

double traffic(const Tensor& x) { return static_cast<double>(x.bytes().count); }

}  // namespace eager

Tensor Parameter::use() {
  Tensor tensor = value;
  tensor.parameter = this;
  return tensor;
}

}  // namespace plimsoll
