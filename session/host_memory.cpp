#include "session/host_memory.h"

#include <fmt/format.h>

#include "session/resume_command.h"
#include "sim/memory/process_need.h"

namespace plimsoll {

HostMemory::HostMemory(const RunRequest& request, const Plan& plan)
    : request_(request), looked_(std::chrono::steady_clock::now()) {
  const auto now = memory_now(request.kernel_root);
  if (now) watch_.emplace(process_need(plan, request.schedule.traced_steps).total(), *now);
}

std::optional<std::string> HostMemory::look() {
  const auto now = std::chrono::steady_clock::now();
  if (!watch_ || now - looked_ < std::chrono::seconds(1)) return std::nullopt;
  looked_ = now;
  const auto memory = memory_now(request_.kernel_root);
  const auto shortage = memory ? watch_->look(*memory) : std::nullopt;
  if (!shortage) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> less;
  if (const std::int64_t mib = shortage->affordable.count >> 20; mib > 0) less.emplace_back("--ram", fmt::format("{}MiB", mib));
  return fmt::format("{}; end what takes the memory, or stop the run (Ctrl-C saves a checkpoint) and go on with {}: {}",
                     shortage->text(), less.empty() ? "it when there is more" : "less", resume_command(request_, less));
}

}  // namespace plimsoll
