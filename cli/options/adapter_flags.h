#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/adapter.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// The options of low-rank adapters, as typed.
struct AdapterFlags {
  std::string lora;             ///< "16" or "16:q,v"; empty: everything is trained
  std::optional<double> alpha;  ///< twice the rank when left out
  double dropout = 0;
  bool dora = false;
  std::string peft;        ///< "ia3:k,v,down": a method of PEFT's in --lora's place
  std::string train_also;  ///< "embed,head": modules of which copies are trained
  /// Whether another program's method was read from them, which says itself what it trains.
  bool described = false;
  std::optional<int> base_bits;  ///< of the frozen model's matrices; as compute reads them when left out
};

void add_adapter_flags(CLI::App& command, AdapterFlags& flags);

/// The adapters that the flags mean for a model; none when there is no --lora. What was assumed is noted.
Result<AdapterSpec> make_adapter(const AdapterFlags& flags, const ModelSpec& spec, Precision precision,
                                 std::vector<std::string>& notes);

}  // namespace plimsoll
