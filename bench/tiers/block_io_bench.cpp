// How fast each way moves 32 MiB transfers of a 512 MiB file in the working directory, at each queue depth (chunks of
// 1 MiB under way), past the page cache: reading, writing, and half of each at once.
#include <benchmark/benchmark.h>

#include <new>
#include <thread>

#include "core/plan/plan.h"
#include "executor/tiers/block_io.h"

namespace plimsoll {
namespace {

constexpr Bytes kFile = 512 * kMiB;
constexpr Bytes kTransfer = 32 * kMiB;
constexpr std::int64_t kPlaces = kFile.count / kTransfer.count;
constexpr std::align_val_t kPages{static_cast<std::size_t>(kStorageAlignment.count)};

enum class Traffic { kRead, kWrite, kMixed };

/// A written file and two transfers' memory; the ways are in the order of IoWay.
class Moved {
 public:
  Moved(IoWay way, unsigned depth) : file_(".", kFile, true), memory_(new(kPages) std::byte[2 * kSize]()) {
    const std::span<std::byte> all(memory_, 2 * kSize);
    opened_ = open_block_io(file_, {&all, 1}, way, {.chunk = kMiB, .chunks = depth});
    for (std::int64_t place = 0; place < kPlaces; ++place) write(place, 0);
  }
  ~Moved() {
    opened_.io.reset();
    ::operator delete[](memory_, kPages);
  }

  void read(std::int64_t place, std::size_t half) { opened_.io->read(offset_of(place), part(half)); }
  void write(std::int64_t place, std::size_t half) { opened_.io->write(offset_of(place), part(half)); }
  [[nodiscard]] std::string label() const {
    return opened_.io->name() + (file_.direct() ? ", O_DIRECT, " : ", buffered, ") + file_.file_system().name;
  }

 private:
  static constexpr auto kSize = static_cast<std::size_t>(kTransfer.count);
  static Bytes offset_of(std::int64_t place) { return kTransfer * (place % kPlaces); }
  [[nodiscard]] std::span<std::byte> part(std::size_t half) const { return {memory_ + half * kSize, kSize}; }

  DriveFile file_;
  std::byte* memory_;
  OpenedIo opened_;
};

void move(benchmark::State& state, Traffic traffic) {
  Moved moved(static_cast<IoWay>(state.range(0)), static_cast<unsigned>(state.range(1)));
  std::int64_t place = 0;
  for (auto _ : state) {
    if (traffic == Traffic::kRead) moved.read(place, 0);
    if (traffic == Traffic::kWrite) moved.write(place, 0);
    if (traffic == Traffic::kMixed) {
      std::jthread writer([&] { moved.write(place + kPlaces / 2, 1); });
      moved.read(place, 0);
    }
    ++place;
  }
  const std::int64_t each = kTransfer.count * (traffic == Traffic::kMixed ? 2 : 1);
  state.SetBytesProcessed(state.iterations() * each);
  state.SetLabel(moved.label());
}

void choices(benchmark::internal::Benchmark* bench) {
  for (const IoWay way : {IoWay::kRegisteredRing, IoWay::kRing, IoWay::kThreads}) {
    for (const std::int64_t depth : {1, 4, 8, 32}) {
      if (way == IoWay::kThreads && depth > 8) continue;  // it starts eight threads at most
      bench->Args({static_cast<std::int64_t>(way), depth});
    }
  }
  bench->ArgNames({"way", "depth"})->UseRealTime()->Unit(benchmark::kMillisecond)->MinTime(0.3);
}

BENCHMARK_CAPTURE(move, read, Traffic::kRead)->Apply(choices);
BENCHMARK_CAPTURE(move, write, Traffic::kWrite)->Apply(choices);
BENCHMARK_CAPTURE(move, mixed, Traffic::kMixed)->Apply(choices);

}  // namespace
}  // namespace plimsoll
