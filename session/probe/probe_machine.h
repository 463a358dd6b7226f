#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "formats/machines/machine_probe.h"
#include "profiler/probe/this_computer.h"
#include "session/probe/kernel_trial.h"

namespace plimsoll {

/// How much to measure. The defaults take about half a minute.
struct ProbeOptions {
  double kernel_seconds = 20.0;  ///< for all kernels together,
  double most_per_kernel = 0.3;  ///< but no longer for one
  TimingOptions memory{.seconds = 0.3, .runs = 5, .most_seconds = 1.0, .dropped = 2};
  Bytes kernel_span{16 * kMiB};    ///< see TrialOptions
  Bytes memory_bytes{128 * kMiB};  ///< that all threads together read, and copy; beyond the last cache
  std::int64_t rehearsal_steps = 12;
  std::vector<std::string> models;  ///< shapes in words whose kernels are timed; empty: the usual ones
  std::string ssd_folder;   ///< whose drive is measured; empty: none is
  Bytes ssd_fill = 4 * kGiB;  ///< written there first; no more than half of what is free
  std::string date;
  std::string tool_version;
};

/// Told what is measured now and which share of all is done.
using ProbeWatcher = std::function<void(const std::string& what, double done)>;

/// Measures this computer: memory, copies beside compute, the kernels of training steps of a few small models by one,
/// two, four … and all workers, and what the interpreter itself spends. Fails with kInterrupted when `stop` turns true.
Result<MachineProbe> probe_machine(const ProbeOptions& options, const ProbeWatcher& watcher,
                                   const std::atomic<bool>& stop);

/// 1, 2, 4 … and `most` itself.
std::vector<std::int64_t> worker_counts(std::int64_t most);

}  // namespace plimsoll
