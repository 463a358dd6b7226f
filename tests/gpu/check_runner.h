#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "tests/gpu/check.h"

namespace plimsoll::gpu {

using OpenDevice = std::function<Result<std::shared_ptr<Device>>()>;

/// PROGRAM [OUT.json [SECONDS [NAME…]]]: runs checks one after another, each in a process of its own, so that one that crashes,
/// hangs or leaves the device in error costs no other, and writes OUT.json after every finding. What does not fit into SECONDS is
/// skipped. Exit code 0: all bounds met; 1: some missed or broken; 77: no GPU.
int run_checks(const std::vector<std::string>& words, const std::vector<Check>& checks, const OpenDevice& open);

}  // namespace plimsoll::gpu
