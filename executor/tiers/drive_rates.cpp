#include "executor/tiers/drive_rates.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/plan/plan.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Bytes kPiece = 32 * kMiB;  // as a large parameter group; a step's transfers are of this order
constexpr double kPassSeconds = 0.6;
constexpr double kMostFillSeconds = 30;

struct PageDeleter {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t(kStorageAlignment.count)); }
};
using Pages = std::unique_ptr<std::byte[], PageDeleter>;

/// Numbers that no drive can compress.
Pages noise() {
  const auto bytes = static_cast<std::size_t>(kPiece.count);
  Pages pages(new (std::align_val_t(kStorageAlignment.count)) std::byte[bytes]);
  std::uint64_t state = 1;
  for (std::size_t at = 0; at < bytes; at += sizeof(state)) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
    std::memcpy(pages.get() + at, &state, sizeof(state));
  }
  return pages;
}

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Pieces moved one after another.
struct Pass {
  Bytes bytes;
  std::vector<double> seconds;  ///< of each piece

  [[nodiscard]] Spread rate() const { return rate_of(spread_of(seconds), static_cast<double>(kPiece.count)); }
};

/// Moves piece after piece within `span`, once over it or as long as a pass may last.
template <typename Move>
Pass run_pass(Bytes span, const Move& move) {
  const auto begin = Clock::now();
  Pass pass;
  while (pass.bytes < span && (pass.seconds.empty() || since(begin) < kPassSeconds)) {
    const auto piece = Clock::now();
    move(pass.bytes);
    pass.bytes += kPiece;
    pass.seconds.push_back(since(piece));
  }
  return pass;
}

/// Writes beside reads: the writer goes on until the reads have ended, from the other end.
std::pair<Spread, Spread> run_mixed(Drive& drive, Bytes span, std::span<std::byte> out, std::span<std::byte> in) {
  std::atomic<bool> done{false};
  Pass writes;
  Pass reads;
  {
    const std::jthread writer([&] {
      do {
        const auto piece = Clock::now();
        drive.write(span - kPiece - Bytes(writes.bytes.count % span.count), out);
        writes.bytes += kPiece;
        writes.seconds.push_back(since(piece));
      } while (!done);
    });
    reads = run_pass(span, [&](Bytes at) { drive.read(at, in); });
    done = true;
  }
  return {reads.rate(), writes.rate()};
}

/// Over and over the same blocks: to the drive they are fresh ones each time.
Bytes fill_cache(Drive& drive, Bytes span, Bytes fill, std::span<const std::byte> piece) {
  const auto begin = Clock::now();
  Bytes filled;
  for (; filled < fill && since(begin) < kMostFillSeconds; filled += kPiece) {
    drive.write(Bytes(filled.count % span.count), piece);
  }
  return filled;
}

}  // namespace

Result<DriveRates> measure_drive_rates(const DriveOptions& options, const DriveTrial& trial) {
  try {
    DriveRates rates{.free = file_system_of(options.folder).free};
    Drive drive(trial.span, true, options);
    const Pages to_write = noise();
    const Pages to_read = noise();
    const auto bytes = static_cast<std::size_t>(kPiece.count);
    const std::array<std::span<std::byte>, 2> memory{std::span(to_write.get(), bytes), std::span(to_read.get(), bytes)};
    drive.start(memory);
    const Bytes span = run_pass(trial.span, [&](Bytes at) { drive.write(at, memory[0]); }).bytes;
    rates.filled = fill_cache(drive, span, trial.fill, memory[0]);
    rates.write = run_pass(span, [&](Bytes at) { drive.write(at, memory[0]); }).rate();
    rates.read = run_pass(span, [&](Bytes at) { drive.read(at, memory[1]); }).rate();
    if (trial.mixed) std::tie(rates.mixed_read, rates.mixed_write) = run_mixed(drive, span, memory[0], memory[1]);
    rates.measured = span;
    rates.way = drive.describe();
    rates.warning = drive.warning();
    return rates;
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
