#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

enum class FindingState { kGood, kLimited, kMissing };

/// One thing that GPU work needs, how it stands, and what would mend it.
struct Finding {
  std::string subject;  ///< "driver", "toolkit", "profiling", "pcie", "pinned memory", "direct storage"
  FindingState state = FindingState::kGood;
  std::string text;
  std::string remedy;  ///< empty when nothing needs mending
};

struct ReadinessOptions {
  std::string root;                   ///< stands before /sys, /proc and /usr, for tests
  std::vector<std::string> toolkits;  ///< folders to look for CUDA in; empty: /usr/local/cuda
  bool capture_built_in = true;
  std::string capture_text;           ///< what this build captures with
  bool may_administer = false;        ///< the user may profile even where others may not
  std::optional<Bytes> locked_limit;  ///< of pinned memory; nothing: none
  std::string cufile;                 ///< where NVIDIA's cuFile is found; empty: nowhere
  bool nvidia_fs = false;             ///< its kernel module is loaded
};

/// Looks at what the kernel, the driver and the file system tell, without starting CUDA: driver, toolkit, whether users may
/// profile, lanes and generation of each GPU's link against what board and slot can, the limit of pinned memory, and what there is for
/// direct storage.
std::vector<Finding> gpu_readiness(const ReadinessOptions& options);

std::string_view to_text(FindingState state);

}  // namespace plimsoll
