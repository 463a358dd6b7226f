#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "core/base/result.h"
#include "sim/stack/optimizer_form.h"

namespace plimsoll {

/// How another stack's optimizer keeps its states, as typed.
struct OptimizerFormFlags {
  std::string projection;
  int state_bits = 0;
  bool paged_states = false;
  bool wide_embedding = false;
};

void add_optimizer_form_flags(CLI::App& command, OptimizerFormFlags& flags, const std::string& group);

Result<OptimizerForm> read_optimizer_form(const OptimizerFormFlags& flags);

}  // namespace plimsoll
