#pragma once

#include <string>

#include "core/platform/platform.h"

namespace plimsoll {

/// What copies between host and GPU (up: to the GPU) and the CPU's Adam reach, alone and beside one another, in bytes a second.
struct CopyRates {
  double up = 0, down = 0, adam = 0;  ///< alone
  double up_beside_down = 0, down_beside_up = 0;
  double up_beside_adam = 0, adam_beside_up = 0;
  double down_beside_adam = 0, adam_beside_down = 0;
};

/// Gives a platform with one GPU these rates: each way's alone, what both ways share, and the demands on host memory and weights
/// under which the simulator's shares slow Adam and copies of one way as they were measured. Host memory gives what the most demanding
/// pair of them moved; a byte that is copied takes of it what leaves Adam its rate beside such copies, which may be more than one. Where
/// neither pair was slowed by a twentieth, host memory stays as it was, if that was more. Copies of both ways are as fast together as
/// measured, but divided as the weights have it. What kernels cost alone stays the cost model's. Queues "h2d", "d2h" and "cpu" must be
/// there, and the links host->gpu0 and gpu0->host. False, and nothing is changed, where a rate is not positive.
bool take_copy_rates(Platform& platform, const CopyRates& rates);

/// "copies measured just now: 54.9 GB/s to the GPU, 55.0 from it, ..."
std::string words_of(const CopyRates& rates);

}  // namespace plimsoll
