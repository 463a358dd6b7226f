// A libnccl without GPUs: ranks are threads of one process, memory is the host's, and what is sent arrives when the group ends. A
// communicator waits for all of its ranks, and a receive for its message, as NCCL's do; 10 s without are a deadlock.

#include "tests/executor/cuda/nccl/fake_nccl.h"

#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

struct ncclComm {
  std::uint64_t id;
  int rank, ranks;
};

namespace {

constexpr std::chrono::seconds kPatience{10};

using Bytes = std::vector<char>;
struct Transfer {
  ncclComm* comm;
  int other;
  const void* from;
  void* to;
  std::size_t count;
};

std::mutex mutex;
std::condition_variable changed;
std::uint64_t newest = 0;
bool broken = false;
FakeNcclCounts counts;
std::map<std::uint64_t, int> joined;                                      // by name
std::map<std::tuple<std::uint64_t, int, int>, std::deque<Bytes>> lines;  // by communicator, from, to
thread_local int depth = 0;
thread_local std::vector<Transfer> group;

ncclResult_t add(const Transfer& transfer) {
  if (depth == 0) {
    const std::scoped_lock lock(mutex);
    ++counts.outside;
    return ncclInvalidUsage;
  }
  if (transfer.other < 0 || transfer.other >= transfer.comm->ranks) return ncclInvalidArgument;
  group.push_back(transfer);
  return ncclSuccess;
}

ncclResult_t carry_out(const std::vector<Transfer>& all) {
  std::unique_lock lock(mutex);
  if (broken) return ncclRemoteError;
  for (const Transfer& t : all) {
    const char* first = static_cast<const char*>(t.from);
    if (first != nullptr) lines[{t.comm->id, t.comm->rank, t.other}].emplace_back(first, first + t.count);
  }
  changed.notify_all();
  for (const Transfer& t : all) {
    if (t.to == nullptr) continue;
    std::deque<Bytes>& line = lines[{t.comm->id, t.other, t.comm->rank}];
    if (!changed.wait_for(lock, kPatience, [&] { return !line.empty(); })) return ncclSystemError;
    if (line.front().size() != t.count) return ncclInvalidUsage;
    std::memcpy(t.to, line.front().data(), t.count);
    line.pop_front();
  }
  return ncclSuccess;
}

}  // namespace

extern "C" {

FakeNcclCounts fake_nccl_counts() {
  const std::scoped_lock lock(mutex);
  return counts;
}
void fake_nccl_break(bool is_broken) {
  const std::scoped_lock lock(mutex);
  broken = is_broken;
}

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::scoped_lock lock(mutex);
  const std::uint64_t number = ++newest;
  std::memset(id, 0, sizeof(*id));
  std::memcpy(id, &number, sizeof(number));
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  std::uint64_t number = 0;
  std::memcpy(&number, &id, sizeof(number));
  if (number == 0 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  std::unique_lock lock(mutex);
  counts.most_blocks = std::max(counts.most_blocks, config->maxCTAs);
  ++joined[number];
  changed.notify_all();
  if (!changed.wait_for(lock, kPatience, [&] { return joined[number] >= ranks; })) return ncclSystemError;
  *comm = new ncclComm{number, rank, ranks};
  ++counts.made;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::scoped_lock lock(mutex);
  ++counts.destroyed;
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::scoped_lock lock(mutex);
  ++counts.aborted;
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--depth > 0) return ncclSuccess;
  std::vector<Transfer> all;
  all.swap(group);
  return carry_out(all);
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t) {
  return add({comm, peer, from, nullptr, count});
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t) {
  return add({comm, peer, nullptr, to, count});
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error" : "another error";
}

}  // extern "C"
