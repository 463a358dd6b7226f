#include "executor/tiers/drive_rates.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/error.h"
#include "core/plan/plan.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Bytes kMost = 256 * kMiB;
constexpr Bytes kPiece = 32 * kMiB;  // as a large parameter group; a step's transfers are of this order
constexpr double kPassSeconds = 0.6;

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

struct Pass {
  Bytes bytes;
  double seconds = 0;

  [[nodiscard]] double rate() const { return static_cast<double>(bytes.count) / seconds; }
};

/// Moves piece after piece, up to `most`, for as long as a pass may last.
template <typename Move>
Pass run_pass(Bytes most, const Move& move) {
  const auto begin = Clock::now();
  Pass pass;
  while (pass.bytes < most && pass.seconds < kPassSeconds) {
    move(pass.bytes);
    pass.bytes += kPiece;
    pass.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return pass;
}

}  // namespace

Result<DriveRates> measure_drive_rates(const DriveOptions& options) {
  try {
    const Bytes free = file_system_of(options.folder).free;
    Drive drive(kMost, true, options);
    const Pages pages = noise();
    const std::span<std::byte> piece(pages.get(), static_cast<std::size_t>(kPiece.count));
    drive.start({&piece, 1});
    const Pass fresh = run_pass(kMost, [&](Bytes at) { drive.write(at, piece); });
    const Pass written = run_pass(fresh.bytes, [&](Bytes at) { drive.write(at, piece); });
    const Pass read = run_pass(fresh.bytes, [&](Bytes at) { drive.read(at, piece); });
    return DriveRates{.read_bytes_per_second = read.rate(),
                      .write_bytes_per_second = written.rate(),
                      .measured = fresh.bytes,
                      .way = drive.describe(),
                      .warning = drive.warning(),
                      .free = free};
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
