#include "executor/checkpoint/save_rates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <vector>

namespace plimsoll {
namespace {

constexpr Bytes kSmall{4096};
constexpr Bytes kMost = 64 * kMiB;
constexpr std::size_t kPiece = std::size_t{4} << 20;

/// Goes when the trial ends, however it ends.
struct TrialFile {
  std::string path;
  ~TrialFile() {
    std::error_code ignored;  // a leftover is only a leftover
    std::filesystem::remove(path, ignored);
  }
};

Result<double> seconds_of(const std::string& path, Bytes bytes, WritePlace place, const std::vector<std::byte>& piece) {
  const auto begin = std::chrono::steady_clock::now();
  auto writer = SafetensorsWriter::create(
      path, {.tensors = {{"trial", {bytes.count}, true}}, .metadata = {}, .checksums = true}, place);
  if (!writer) return fail(writer.error());
  for (std::int64_t left = bytes.count; left > 0;) {
    const auto count = std::min(static_cast<std::size_t>(left), piece.size());
    if (auto written = writer->append_bytes("trial", std::span(piece).first(count)); !written) return fail(written.error());
    left -= static_cast<std::int64_t>(count);
  }
  if (auto finished = writer->finish(); !finished) return fail(finished.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<double> median_seconds(const std::string& path, Bytes bytes, WritePlace place, const std::vector<std::byte>& piece) {
  std::array<double, 3> seconds{};
  if (auto first = seconds_of(path, bytes, WritePlace::kBeside, piece); !first) return first;  // finds fresh blocks
  for (double& one : seconds) {
    const auto took = seconds_of(path, bytes, place, piece);
    if (!took) return took;
    one = *took;
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

}  // namespace

Result<SaveRates> measure_save_rates(const std::string& run_file, Bytes state, WritePlace place) {
  const TrialFile file{run_file + ".trial.safetensors"};
  std::vector<std::byte> piece(kPiece);
  for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<std::byte>(i * 2654435761u >> 24);  // not all alike
  const Bytes large = std::clamp(state, kSmall, kMost);
  const auto small_seconds = median_seconds(file.path, kSmall, place, piece);
  if (!small_seconds) return fail(small_seconds.error());
  const auto large_seconds = median_seconds(file.path, large, place, piece);
  if (!large_seconds) return fail(large_seconds.error());
  const double difference = std::max(*large_seconds - *small_seconds, 1e-6);
  const double bytes = static_cast<double>(std::max<std::int64_t>(1, (large - kSmall).count));
  return SaveRates{.bytes_per_second = bytes / difference, .seconds_each = *small_seconds, .measured = large};
}

}  // namespace plimsoll
