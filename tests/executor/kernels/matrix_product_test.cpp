#include "executor/kernels/matrix_product.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "executor/kernels/worker_pool.h"

namespace plimsoll {
namespace {

constexpr std::array<MatmulLibrary, 2> kLibraries{MatmulLibrary::kOneDnn, MatmulLibrary::kOpenBlas};

struct Shape {
  std::int64_t rows, columns, depth;
};

/// How a layer reads its operands: y = x Wᵀ, dx = dy W, dW = dyᵀ x.
struct Reading {
  bool a_transposed, b_transposed;
};
constexpr std::array<Reading, 3> kReadings{{{false, true}, {false, false}, {true, false}}};

template <typename T>
std::vector<T> random_numbers(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& x : numbers) x = static_cast<T>(uniform(random));
  return numbers;
}

/// A product with operands of its own; C has one column more than it needs, to show that nothing else is written.
template <typename T>
struct Problem {
  Problem(Shape shape, Reading reading, std::int64_t shift = 0)
      : a(random_numbers<T>(shape.rows * shape.depth, 1)),
        b(random_numbers<T>(shape.depth * shape.columns, 2)),
        c(static_cast<std::size_t>(shape.rows * (shape.columns + 1) + shift), T(7)) {
    a.insert(a.begin(), static_cast<std::size_t>(shift), T(0));
    b.insert(b.begin(), static_cast<std::size_t>(shift), T(0));
    product = {.rows = shape.rows,
               .columns = shape.columns,
               .depth = shape.depth,
               .a = {a.data() + shift, reading.a_transposed ? shape.rows : shape.depth, reading.a_transposed},
               .b = {b.data() + shift, reading.b_transposed ? shape.depth : shape.columns, reading.b_transposed},
               .c = c.data() + shift,
               .c_stride = shape.columns + 1};
  }

  std::vector<T> a, b, c;
  Product<T> product;
};

template <typename T>
double element(const MatrixView<T>& view, std::int64_t row, std::int64_t column) {
  return static_cast<double>(view.transposed ? view.data[column * view.stride + row]
                                             : view.data[row * view.stride + column]);
}

template <typename T>
double expected(const Product<T>& p, std::int64_t row, std::int64_t column) {
  double sum = 0;
  for (std::int64_t k = 0; k < p.depth; ++k) sum += element(p.a, row, k) * element(p.b, k, column);
  return sum;
}

template <typename T>
void check_against_definition(Shape shape, double tolerance) {
  WorkerPool pool(2);
  const std::vector<T> bias = random_numbers<T>(shape.columns, 3);
  for (const MatmulLibrary library : kLibraries) {
    for (const Reading reading : kReadings) {
      for (const bool adds : {false, true}) {
        Problem<T> problem(shape, reading);
        problem.product.adds = adds;
        tiled_product(pool, MatrixProduct(library), problem.product, bias.data());
        double worst = 0;
        for (std::int64_t i = 0; i < shape.rows; ++i) {
          for (std::int64_t j = 0; j < shape.columns; ++j) {
            const double want = expected(problem.product, i, j) + (adds ? 7 : 0) +
                                static_cast<double>(bias[static_cast<std::size_t>(j)]);
            worst = std::max(worst,
                             std::abs(static_cast<double>(problem.product.c[i * problem.product.c_stride + j]) - want));
          }
          REQUIRE(problem.product.c[i * problem.product.c_stride + shape.columns] == T(7));
        }
        CHECK(worst < tolerance);
      }
    }
  }
}

TEST_CASE("tiled products in every reading agree with the definition") {
  // A sum of k products of numbers below 1 errs by at most k² ε / 2 (ε = 6e-8 or 1.1e-16), here far less.
  for (const Shape shape : {Shape{1, 1, 1}, {3, 5, 7}, {33, 65, 129}, {257, 385, 17}}) {
    check_against_definition<float>(shape, 2e-5);
    check_against_definition<double>(shape, 1e-13);
  }
}

/// The products of a layer with `inputs` and `outputs` for a micro-batch of `rows` tokens.
std::vector<std::pair<Shape, Reading>> layer_products(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  return {{{rows, outputs, inputs}, kReadings[0]},
          {{rows, inputs, outputs}, kReadings[1]},
          {{outputs, inputs, rows}, kReadings[2]}};
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
void check_workers_change_nothing(MatmulLibrary library, Shape shape, Reading reading) {
  Problem<T> reference(shape, reading);
  WorkerPool alone(1);
  tiled_product(alone, MatrixProduct(library), reference.product);
  for (const std::int64_t workers : {2, 3}) {
    for (const std::int64_t shuffle : {0, 5}) {
      Problem<T> problem(shape, reading);
      WorkerPool pool(workers, shuffle);
      tiled_product(pool, MatrixProduct(library), problem.product);
      INFO(shape.rows << " x " << shape.columns << " x " << shape.depth);
      CHECK(same_bits(problem.c, reference.c));
    }
  }
}

TEST_CASE("splitting the products of small models over workers changes no bit") {
  struct Layer {
    std::int64_t rows, inputs, outputs;
  };
  // (tokens, inputs, outputs): layers of models with 64, 128, 384 and 768 hidden units; odd vocabularies.
  for (const Layer layer :
       {Layer{64, 64, 192}, {128, 64, 256}, {128, 128, 65}, {96, 384, 1152}, {256, 768, 768}, {64, 128, 5003}}) {
    for (const auto& [shape, reading] : layer_products(layer.rows, layer.inputs, layer.outputs)) {
      for (const MatmulLibrary library : kLibraries) {
        check_workers_change_nothing<float>(library, shape, reading);
        check_workers_change_nothing<double>(library, shape, reading);
      }
    }
  }
}

TEST_CASE("where operands lie changes no bit of a product") {
  for (const auto& [shape, reading] : layer_products(96, 384, 320)) {
    for (const MatmulLibrary library : kLibraries) {
      WorkerPool pool(2);
      Problem<float> reference(shape, reading);
      tiled_product(pool, MatrixProduct(library), reference.product);
      for (const std::int64_t shift : {1, 3, 8}) {
        Problem<float> moved(shape, reading, shift);
        tiled_product(pool, MatrixProduct(library), moved.product);
        CHECK(std::equal(reference.c.begin(), reference.c.end(), moved.c.begin() + shift));
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll
