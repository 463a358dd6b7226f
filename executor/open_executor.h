#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "executor/executor.h"
#include "executor/tiers/drive.h"

namespace plimsoll {

/// What runs a plan's device queues.
enum class Backend : std::uint8_t { kCpu, kCuda };

/// An executor of that plan on that backend: the plan verified, its arenas reserved, its kernels rehearsed. Errors say what is
/// missing.
Result<std::unique_ptr<Executor>> open_executor(Backend backend, const Plan& plan, const DriveOptions& drive,
                                               bool device_graphs = true);

Result<Backend> parse_backend(std::string_view text);

}  // namespace plimsoll
