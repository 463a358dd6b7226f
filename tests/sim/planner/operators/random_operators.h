#pragma once

#include <algorithm>
#include <random>

#include "core/plan/operator_graph.h"

namespace plimsoll::test {

/// A program of `count` operators, the first a constant; each reads up to three values, more often late ones, and
/// writes one, or with `rich` also two, or a view. What nothing reads is let go by the program but for the last value,
/// which is kept.
inline OperatorGraph random_operators(std::mt19937& random, std::size_t count, bool rich) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  OperatorGraph graph;
  add_operator(graph, {.name = "constant", .constant = true}, {"c"}, {Bytes(1)}, {-1});
  while (graph.operators.size() < count) {
    Operator made{.name = "op", .time = Nanoseconds(1 + static_cast<std::int64_t>(below(9)))};
    for (std::size_t i = 0; i < 1 + below(3); ++i) {
      const std::size_t far = std::min(below(graph.values.size()), below(graph.values.size()));
      made.inputs.emplace_back(graph.values.size() - 1 - far);
    }
    const std::string name = "v" + std::to_string(graph.operators.size());
    const auto size = [&] { return Bytes(1 + static_cast<std::int64_t>(below(6))); };
    const std::size_t sort = rich ? below(4) : 3;
    if (sort == 0)
      add_operator(graph, made, {name}, {Bytes(0)}, {0});
    else if (sort == 1)
      add_operator(graph, made, {name, name + "b"}, {size(), size()}, {-1, -1});
    else
      add_operator(graph, made, {name}, {size()}, {-1});
  }
  graph.kept = {ValueId(graph.values.size() - 1)};
  return graph;
}

}  // namespace plimsoll::test
