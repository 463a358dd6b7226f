#include "profiler/probe/others_cpu.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

namespace plimsoll {
namespace {

/// Order of the numbers in /proc/stat (proc(5)); guests' time is part of user and nice.
enum Column : std::size_t { kUser, kNice, kSystem, kIdle, kWaiting, kInterrupts, kSoftInterrupts, kStolen, kColumns };

/// In a shorter time the kernel counts too coarsely.
constexpr std::int64_t kFewTicks = 100;

double own_ticks() {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return (seconds(used.ru_utime) + seconds(used.ru_stime)) * static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<CpuTicks> ticks_now() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return parse_cpu_ticks(line);
}

}  // namespace

std::optional<CpuTicks> parse_cpu_ticks(std::string_view text) {
  std::istringstream words{std::string(text.substr(0, text.find('\n')))};
  std::string name;
  if (!(words >> name) || name != "cpu") return std::nullopt;
  std::array<std::int64_t, kColumns> ticks{};
  for (std::int64_t& column : ticks) {
    if (!(words >> column) || column < 0) return std::nullopt;
  }
  CpuTicks sum;
  for (const std::int64_t column : ticks) sum.total += column;
  sum.busy = sum.total - ticks[kIdle] - ticks[kWaiting];
  return sum;
}

double others_share(const CpuTicks& before, const CpuTicks& after, double own) {
  const auto total = static_cast<double>(after.total - before.total);
  if (total <= 0) return 0;
  return std::clamp((static_cast<double>(after.busy - before.busy) - own) / total, 0.0, 1.0);
}

OthersCpu::OthersCpu() : before_(ticks_now()), own_before_(own_ticks()) {}

double OthersCpu::share() const {
  const auto after = ticks_now();
  if (!before_ || !after || after->total - before_->total < kFewTicks) return 0;
  return others_share(*before_, *after, own_ticks() - own_before_);
}

}  // namespace plimsoll
