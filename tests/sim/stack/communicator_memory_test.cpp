#include <catch2/catch.hpp>

#include "sim/stack/communicator_memory.h"
#include "sim/stack/device_room.h"

namespace plimsoll {
namespace {

GpuEntry gpu(const char* name) { return *find_gpu(built_in_gpu_catalogue(), name); }

std::int64_t mib(const GpuEntry& board, const CommunicatorShape& shape) { return communicator_memory(board, shape).count / kMiB.count; }

}  // namespace

TEST_CASE("A communicator between A100 takes what was measured of one") {
  // NVIDIA/nccl issue 964, four A100 with NVLink, every group with an all-reduce: 544 MiB for groups of two, 688 for larger ones (on
  // their first rank).
  const GpuEntry board = gpu("A100 80GB SXM4");
  CHECK(communicator_channels(board) == 24);
  CHECK(mib(board, {.ranks = 2}) == 544);
  CHECK(mib(board, {.ranks = 3, .ends_chain = true}) == 688);
  CHECK(mib(board, {.ranks = 4, .ends_chain = true}) == 688);
}

TEST_CASE("Between the ends of a chain a rank has two neighbours in it, and more ranks change nothing") {
  const GpuEntry board = gpu("A100 80GB SXM4");
  CHECK(mib(board, {.ranks = 4}) - mib(board, {.ranks = 4, .ends_chain = true}) == 24 * 6);
  CHECK(mib(board, {.ranks = 8}) == mib(board, {.ranks = 4}));
}

TEST_CASE("Channels follow from links, as NCCL's logs show them") {
  CHECK(communicator_channels(gpu("V100 SXM2 16GB")) == 12);
  CHECK(communicator_channels(gpu("H800 SXM5 80GB")) == 16);
  CHECK(communicator_channels(gpu("H100 SXM5 80GB")) == 24);
  CHECK(communicator_channels(gpu("RTX A6000")) == 2);
}

TEST_CASE("GeForce boards keep buffers in host memory, however many ranks there are") {
  const GpuEntry board = gpu("RTX 3090");
  CHECK(mib(board, {.ranks = 2}) == 4);
  CHECK(mib(board, {.ranks = 4}) == 4);
  // llm.c on RTX 3090: 639 MiB beside its arenas on two and on four of them, 286 on one GPU.
  StackSetup setup;
  setup.data_ranks = 2;
  StackSetup alone;
  CHECK((device_room(board, setup).context - device_room(board, alone).context).count / kMiB.count == 639 - 286);
}

TEST_CASE("No group of ranks, no communicator; older NCCL makes no pool, and sends to other nodes go in smaller pieces") {
  const GpuEntry board = gpu("A100 80GB SXM4");
  CHECK(mib(board, {.ranks = 1}) == 0);
  CHECK(mib(board, {.ranks = 2, .makes_pool = false}) == 24 * 12);
  CHECK(mib(board, {.ranks = 2, .leaves_node = true}) == 24 * 12 + 64);
}

}  // namespace plimsoll
