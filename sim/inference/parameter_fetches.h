#pragma once

#include <cstdint>
#include <vector>

#include "sim/inference/hooked_modules.h"
#include "sim/inference/serving_program.h"

namespace plimsoll {

/// How far ZeRO-3's hooks fetch ahead, in numbers.
struct FetchRules {
  std::int64_t bucket =
      0;  ///< a hook adds parameters to what it fetches ahead until they are so many (stage3_prefetch_bucket_size)
  std::int64_t live =
      0;  ///< and while fewer than so many are on the device or on their way (stage3_max_live_parameters)
  std::int64_t reuse = 0;  ///< what is needed again within so many stays (stage3_max_reuse_distance)
};

/// As the authors of the two benchmarks set them: one square of the width and the program's own 10^9 (FlexGen's
/// benchmark of DeepSpeed 0.8), two squares for both (DeepSpeed's own examples of 0.10).
FetchRules fetch_rules(ServingProgram program, const ModelSpec& spec);

/// Parameters that one call fetches together.
struct Gather {
  std::vector<std::size_t> parameters;
  std::int64_t elements = 0;
};

/// What the hook before a module does, in this order.
struct HookCall {
  std::vector<std::size_t>
      own;  ///< into ParameterFetches::gathers: what the module needs and nobody has fetched; 0 or 1
  std::vector<std::size_t> awaited;  ///< gathers that nobody has waited for yet
  std::vector<std::size_t> ahead;    ///< what is fetched ahead; 0 or 1
};

struct ParameterFetches {
  std::vector<Gather> gathers;
  std::vector<HookCall> calls;  ///< one for each module, in order
};

/// Follows the coordinator of ZeRO-3 through a pass whose order of modules it knows from the pass before.
ParameterFetches follow_fetches(const HookedModules& modules, const FetchRules& rules);

}  // namespace plimsoll
