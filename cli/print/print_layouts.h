#pragma once

#include <string>
#include <vector>

#include "sim/parallel/parallel_answer.h"

namespace plimsoll {

/// The columns of a table of layouts: what each is, takes and needs, and why one could not be timed.
std::string layouts_csv_header();
std::string layout_csv_line(const ParallelAnswer& answer);
std::string refused_csv_line(const ParallelLayout& layout, const std::string& refusal);

/// The ranks of one layout's pipeline.
std::string ranks_csv(const ParallelAnswer& answer);

}  // namespace plimsoll
