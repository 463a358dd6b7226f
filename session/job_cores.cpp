#include "session/job_cores.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "profiler/probe/this_computer.h"

namespace plimsoll {
namespace {

/// Where this process may run: ranks of the same words share their cores.
std::string own_place() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  std::string text = host;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return text;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) text += fmt::format(" {}", core);
  }
  return text;
}

}  // namespace

JobCores share_cores(Job& job) {
  const ThisComputer computer = probe_this_computer();
  const std::vector<std::string> places = job.tell_all(own_place());
  const std::vector<std::string> counts = job.tell_all(std::to_string(computer.logical_cores));
  std::map<std::string, double> cores;
  for (std::size_t rank = 0; rank < places.size(); ++rank) cores[places[rank]] = std::stod(counts[rank]);
  JobCores share{.all = 0};
  for (const auto& [place, count] : cores) share.all += count;
  const auto sharing = std::count(places.begin(), places.end(), places[job.rank()]);
  share.own = std::max<std::int64_t>(1, computer.physical_cores / sharing);
  return share;
}

}  // namespace plimsoll
