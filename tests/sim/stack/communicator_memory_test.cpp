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
  CHECK(mib(board, {.ranks = 2, .adapters = 12}) == 24 * 12 + 64);
}

TEST_CASE("Between nodes a communicator has two channels an adapter, however many NVLinks its GPUs have") {
  // Three nodes of eight H100 with eight adapters: "Channel 00/16" (NVIDIA/nccl issue 1453).
  CHECK(communicator_channels(gpu("H100 SXM5 80GB"), 8) == 16);
  CHECK(communicator_channels(gpu("A100 80GB SXM4"), 4) == 8);
  CHECK(communicator_channels(gpu("A100 80GB SXM4"), 64) == 24);
  // Eight data ranks, each alone on its node: 2 channels of 24 MiB instead of 24.
  CHECK(mib(gpu("A100 80GB SXM4"), {.ranks = 8, .adapters = 1, .makes_pool = false}) == 2 * 24);
}

TEST_CASE("A process holds communicators as its groups lie on the nodes") {
  const GpuEntry board = gpu("A100 80GB SXM4");
  StackSetup setup{.stack = Stack::kDeepspeed, .modules = ModuleStyle::kMegatron};
  setup.eager_modules = true;
  setup.network = "4x100Gb/s";
  const auto alone = device_room(board, setup).context;
  setup.tensor_ranks = 8;
  setup.data_ranks = 4;
  setup.stages = 12;
  // 48 nodes of eight: tensor ranks 24 channels of 24 MiB; data ranks and stages 2, the embedding's two ranks 2 of 12 MiB; all ranks, and those of one
  // model, 4 adapters of 2 channels.
  CHECK((device_room(board, setup).context - alone).count / kMiB.count == 24 * 24 + 2 * 2 * 24 + 2 * 12 + 2 * 8 * 24);
}

}  // namespace plimsoll
