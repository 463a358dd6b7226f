#include "executor/cuda/nccl_links.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "executor/cuda/find_symbol.h"

namespace plimsoll {
namespace {

/// Blocks of threads that one communicator's kernel has at most: several wait at once, and none may keep the others, or the
/// plan's kernels, from the device.
constexpr int kMostBlocks = 4;

/// The functions that we call, as the loader finds them: the program starts without the library.
struct Functions {
  decltype(&::ncclGetVersion) version;
  decltype(&::ncclGetUniqueId) make_id;
  decltype(&::ncclCommInitRankConfig) connect;
  decltype(&::ncclCommDestroy) destroy;
  decltype(&::ncclCommAbort) abort;
  decltype(&::ncclGroupStart) begin_group;
  decltype(&::ncclGroupEnd) end_group;
  decltype(&::ncclSend) send;
  decltype(&::ncclRecv) receive;
  decltype(&::ncclGetErrorString) describe;
};

bool find_all(void* library, Functions& f) {
  return find_symbol(library, "ncclGetVersion", f.version) && find_symbol(library, "ncclGetUniqueId", f.make_id) &&
         find_symbol(library, "ncclCommInitRankConfig", f.connect) && find_symbol(library, "ncclCommDestroy", f.destroy) &&
         find_symbol(library, "ncclCommAbort", f.abort) &&
         find_symbol(library, "ncclGroupStart", f.begin_group) && find_symbol(library, "ncclGroupEnd", f.end_group) &&
         find_symbol(library, "ncclSend", f.send) && find_symbol(library, "ncclRecv", f.receive) &&
         find_symbol(library, "ncclGetErrorString", f.describe);
}

Result<Functions> load() {
  void* library = nullptr;
  for (const char* name : {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"}) {
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  Functions functions{};
  if (library != nullptr && find_all(library, functions)) return functions;
  return fail({.kind = ErrorKind::kEnvironment,
               .what = library == nullptr ? "libnccl.so.2 is not found, which several GPUs talk through"
                                          : "libnccl.so.2 is older than 2.14: it lacks a function",
               .where = "--backend cuda",
               .remedy = "install NCCL (apt-get install libnccl2), or put its folder into LD_LIBRARY_PATH"});
}

std::string version_of(const Functions& f) {
  int version = 0;
  f.version(&version);
  return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

class NcclLinks final : public DeviceLinks {
 public:
  NcclLinks(const Functions& functions, Device& device, const LinkPlan& plan, std::uint32_t rank, std::uint32_t ranks)
      : f_(functions), device_(device), members_(plan.links), links_(plan.links.size(), nullptr), rank_(rank), ranks_(ranks) {}
  /// After a failure what is on the device may wait for a rank that is gone: that is ended, not awaited.
  ~NcclLinks() override {
    for (ncclComm_t link : links_) {
      if (link != nullptr) failed_ ? f_.abort(link) : f_.destroy(link);
    }
  }
  NcclLinks(const NcclLinks&) = delete;
  NcclLinks& operator=(const NcclLinks&) = delete;

  /// Every link's first member makes its name. All ranks join links in one order, so none waits for another's later one.
  void connect(const TellAll& tell_all) {
    const StreamId stream = device_.add_stream();
    std::vector<std::string> names = tell_all(own_names());
    std::vector<std::size_t> read(ranks_, 0);
    for (std::uint32_t link = 0; link < members_.size(); ++link) {
      const std::uint32_t first = members_[link].front();
      ncclUniqueId name{};
      std::memcpy(&name, names.at(first).data() + read[first], sizeof(name));
      read[first] += sizeof(name);
      if (!std::binary_search(members_[link].begin(), members_[link].end(), rank_)) continue;
      static_cast<void>(device_.native_stream(stream));  // this thread's device is the one that is connected
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.maxCTAs = kMostBlocks;
      const auto members = static_cast<int>(members_[link].size());
      check(f_.connect(&links_[link], members, name, place_in(link, rank_), &config), "ncclCommInitRankConfig");
      try_out(stream, link);
    }
  }

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }

  void exchange(StreamId stream, std::uint32_t link, std::span<const OutgoingBytes> out,
                std::span<const IncomingBytes> in) override {
    auto* on = static_cast<cudaStream_t>(device_.native_stream(stream));
    check(f_.begin_group(), "ncclGroupStart");
    for (const IncomingBytes& part : in)
      check(f_.receive(part.bytes.data(), part.bytes.size(), ncclInt8, place_in(link, part.rank), links_[link], on), "ncclRecv");
    for (const OutgoingBytes& part : out)
      check(f_.send(part.bytes.data(), part.bytes.size(), ncclInt8, place_in(link, part.rank), links_[link], on), "ncclSend");
    check(f_.end_group(), "ncclGroupEnd");
  }

 private:
  void check(ncclResult_t status, const char* call) const {
    if (status == ncclSuccess) return;
    failed_ = true;
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("{}: {}", call, f_.describe(status)),
                            .where = version_of(f_),
                            .remedy = "NCCL_DEBUG=WARN says more"});
  }

  [[nodiscard]] int place_in(std::uint32_t link, std::uint32_t rank) const {
    const auto& members = members_[link];
    return static_cast<int>(std::lower_bound(members.begin(), members.end(), rank) - members.begin());
  }

  [[nodiscard]] std::string own_names() const {
    std::string names;
    for (const auto& members : members_) {
      if (members.front() != rank_) continue;
      ncclUniqueId name{};
      check(f_.make_id(&name), "ncclGetUniqueId");
      names.append(reinterpret_cast<const char*>(&name), sizeof(name));
    }
    return names;
  }

  /// A few bytes to and from all others, itself too where it is alone: the library sets ways up when they are first used.
  void try_out(StreamId stream, std::uint32_t link) {
    constexpr std::int64_t kTried = 256;
    const auto count = static_cast<std::int64_t>(members_[link].size());
    std::byte* memory = device_.reserve(Bytes(2 * count * kTried));
    std::vector<OutgoingBytes> out;
    std::vector<IncomingBytes> in;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t other = members_[link][static_cast<std::size_t>(i)];
      if (other == rank_ && count > 1) continue;
      out.push_back({other, {memory + 2 * i * kTried, kTried}});
      in.push_back({other, {memory + (2 * i + 1) * kTried, kTried}});
    }
    exchange(stream, link, out, in);
    device_.synchronize();
    device_.release(memory);
  }

  Functions f_;
  Device& device_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<ncclComm_t> links_;
  std::uint32_t rank_, ranks_;
  mutable std::atomic<bool> failed_{false};
};

}  // namespace

Result<std::string> find_nccl() {
  const auto functions = load();
  if (!functions) return fail(functions.error());
  return version_of(*functions);
}

Result<std::unique_ptr<DeviceLinks>> open_nccl_links(Device& device, const LinkPlan& plan, std::uint32_t rank,
                                                     std::uint32_t ranks, const TellAll& tell_all) {
  const auto functions = load();
  // What one rank lacks all hear of, before any waits for it.
  const std::vector<std::string> lacks = tell_all(functions ? std::string() : functions.error().text());
  if (!functions) return fail(functions.error());
  for (std::uint32_t other = 0; other < lacks.size(); ++other) {
    if (lacks[other].empty()) continue;
    return fail(
        {.kind = ErrorKind::kEnvironment, .what = fmt::format("rank {}: {}", other, lacks[other]), .where = {}, .remedy = {}});
  }
  try {
    auto links = std::make_unique<NcclLinks>(*functions, device, plan, rank, ranks);
    links->connect(tell_all);
    return std::unique_ptr<DeviceLinks>(std::move(links));
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
