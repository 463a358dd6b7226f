#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// Peak of one space in both worlds, split by what lies there.
struct ComparedMemory {
  std::string space;  ///< its name
  Bytes predicted;
  Bytes measured;
  struct Category {
    TensorKind kind;
    Bytes predicted;
    Bytes measured;
  };
  std::vector<Category> by_category;
};

/// Peaks of two traces' memories by their names. Nothing where a side never came to tell: a run that was killed.
std::vector<ComparedMemory> compare_memory(const Plan& first_plan, const Trace& first, const Plan& second_plan, const Trace& second);

}  // namespace plimsoll
