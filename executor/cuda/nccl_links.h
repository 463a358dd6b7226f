#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "executor/cuda/device_links.h"
#include "executor/cuda/link_plan.h"

namespace plimsoll {

/// "NCCL 2.28.3", as it would be loaded. Errors say what is missing: its header when this was built, its library now.
Result<std::string> find_nccl();

/// What every rank says, by rank; all ranks must call (Job::tell_all).
using TellAll = std::function<std::vector<std::string>(const std::string& mine)>;

/// A communicator of NCCL for each of the job's links that this rank is in, connected and tried with a few bytes, so that nothing
/// is set up while steps run. All ranks must call, each with its own device, which outlives the links.
Result<std::unique_ptr<DeviceLinks>> open_nccl_links(Device& device, const LinkPlan& plan, std::uint32_t rank,
                                                     std::uint32_t ranks, const TellAll& tell_all);

}  // namespace plimsoll
