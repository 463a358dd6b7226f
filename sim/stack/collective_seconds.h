#pragma once

#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// Bytes/s that each of several GPUs of one node sends and receives at once in a ring: over NVLink where the board has it
/// beside every other one (data-centre modules), otherwise over its PCIe lanes: from board to board, GeForce boards by way of
/// host memory.
double ring_rate(const GpuEntry& gpu);

/// Bytes/s between a GPU and pinned host memory.
double host_link_rate(const GpuEntry& gpu);

/// Seconds of a collective in which a GPU sends `bytes`.
double collective_seconds(double bytes, const GpuEntry& gpu);

}  // namespace plimsoll
