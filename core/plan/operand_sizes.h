#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/plan/plan.h"

namespace plimsoll {

/// What runs a plan's kernels, as far as sizes of operands depend on it.
struct KernelSurroundings {
  const ModelSpec& spec;
  const Recipe& recipe;
  bool on_gpu = false;  ///< whose kernels need other workspaces than those of one CPU worker
};

/// What is wrong with a launch's operands, if anything: every kernel reads and writes as much as its shape and type
/// say, and each operand must have that much. Also refused are shapes that no kernel can work on (no rows, heads that
/// do not divide, …), and a number of operands that is not the shape's. The accesses must have been matched with the
/// kernel's pattern. `uses` are the launch's, number `guard` of which is no operand.
///
/// This is what keeps a plan from elsewhere within its arenas: verify_plan proves that uses lie in them, this that
/// kernels stay within their uses.
std::optional<std::string> find_size_flaw(const Kernel& kernel, std::span<const Use> uses, std::uint32_t guard,
                                          const KernelSurroundings& around);

}  // namespace plimsoll
