#pragma once

namespace plimsoll {

/// Bytes a second at which a CPU's optimizer streams: its share of what the memory has, or what so many cores can ask for, whichever is
/// less. Both are of machine_defaults.csv; the cores' is fitted on data/calibration/host_update_rates.csv.
double optimizer_rate(double cores, double memory_bytes_per_second);

/// The fewest cores whose optimizer the memory limits: what a machine of which only the memory is told will have.
double cores_for_memory(double memory_bytes_per_second);

}  // namespace plimsoll
