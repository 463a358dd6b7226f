#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/recording.h"
#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// How much longer each piece of device work of a recording would take elsewhere, by its index, and by what that was judged.
struct WorkFactors {
  std::vector<double> factors;
  std::map<std::string, std::size_t> judged;  ///< "bf16 products" → how many pieces of work
};

/// The recording's work on another GPU, by nominal rates of the catalogue: products, convolutions and attention by the rate of the
/// matrix units in the type that the kernel's name tells (by fp32's, and the wider of the two ratios, where it tells none), all other
/// kernels, fills and copies within the device by memory bandwidth, copies to and from the host by the slot. Collectives keep their
/// time. A rate that one of the two lacks is an error. Nothing of clocks, caches or numbers of multiprocessors is known here.
Result<WorkFactors> factors_on_gpu(const Recording& recording, const GpuEntry& from, const GpuEntry& to);

/// Copies between host and device at `gbs` GB/s each way: a copy keeps what it takes beyond its bytes at the rate of the recording's
/// fastest large ones (64 KiB and more) of its direction. Fails when there are none.
Result<WorkFactors> factors_at_bandwidth(const Recording& recording, double gbs);

}  // namespace plimsoll
