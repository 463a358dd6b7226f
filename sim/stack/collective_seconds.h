#pragma once

#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/node_placement.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// Bytes/s that each of several GPUs of one node sends and receives at once in a ring: over NVLink where the board has it
/// beside every other one (data-centre modules), otherwise over its PCIe lanes: from board to board, GeForce boards by way of
/// host memory.
double ring_rate(const GpuEntry& gpu);

/// The same over NVLink, whether a switch or a bridge joins the boards.
double nvlink_ring_rate(const GpuEntry& gpu);

/// Bytes/s between a GPU and pinned host memory.
double host_link_rate(const GpuEntry& gpu);

/// Whether every board of a node reaches every other one over NVLink.
bool has_links_to_all(const GpuEntry& gpu);

/// Seconds of a collective as its ranks stand on the nodes: bytes at the slower of the links inside a node and the adapters
/// that the ranks of a node have together, and a step of latency for every further node of the ring. An all-reduce over nodes
/// takes a tree where that is faster.
double collective_seconds(const StackKernel& kernel, const StackSetup& setup, const GpuEntry& gpu, const NodePlacement& placed);

}  // namespace plimsoll
