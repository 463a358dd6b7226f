#include "executor/checkpoint/save_rates.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "executor/checkpoint/state_files.h"

namespace plimsoll {
namespace {

constexpr Bytes kSmall{4096};
constexpr Bytes kMost = 64 * kMiB;
constexpr std::size_t kFewest = 3, kTrials = 9;
constexpr double kPatienceSeconds = 2;  ///< after that, and the fewest trials, no more are made

/// Goes when the trial ends, however it ends.
struct TrialFiles {
  StateFiles names;
  ~TrialFiles() {
    std::error_code ignored;  // a leftover is only a leftover
    for (const std::string& name : {names.checkpoint, names.previous, names.checkpoint + ".tmp"}) std::filesystem::remove(name, ignored);
  }
};

/// As StateKeeper writes: the checkpoint before is kept, and the one before that written over.
Result<double> seconds_of(const StateFiles& files, Bytes bytes, WritePlace place, const TrialBytes& pieces) {
  const auto begin = std::chrono::steady_clock::now();
  if (place == WritePlace::kOverSpare) keep_previous(files);
  auto writer = SafetensorsWriter::create(
      files.checkpoint, {.tensors = {{"trial", {bytes.count}, true}}, .metadata = {}, .checksums = true}, place);
  if (!writer) return fail(writer.error());
  std::size_t call = 0;
  for (std::int64_t left = bytes.count; left > 0;) {
    const std::span<const std::byte> piece = pieces(call++);
    const auto count = std::min(static_cast<std::size_t>(left), piece.size());
    if (auto written = writer->append_bytes("trial", piece.first(count)); !written) return fail(written.error());
    left -= static_cast<std::int64_t>(count);
  }
  if (auto finished = writer->finish(); !finished) return fail(finished.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<double> median_seconds(const StateFiles& files, Bytes bytes, WritePlace place, const TrialBytes& pieces) {
  for (int i = 0; i < 2; ++i) {  // find fresh blocks, as a run's first two do
    if (auto first = seconds_of(files, bytes, i == 0 ? WritePlace::kBeside : place, pieces); !first) return first;
  }
  std::vector<double> seconds;
  for (double spent = 0; seconds.size() < kTrials && (seconds.size() < kFewest || spent < kPatienceSeconds);) {
    const auto took = seconds_of(files, bytes, place, pieces);
    if (!took) return took;
    seconds.push_back(*took);
    spent += *took;
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace

Bytes trial_bytes(Bytes state) { return std::clamp(state, kSmall, kMost); }

Result<SaveRates> measure_save_rates(const std::string& run_file, Bytes state, WritePlace place, const TrialBytes& pieces) {
  const TrialFiles files{state_files_of(run_file + ".trial")};
  const Bytes large = trial_bytes(state);
  const auto small_seconds = median_seconds(files.names, kSmall, place, pieces);
  if (!small_seconds) return fail(small_seconds.error());
  const auto large_seconds = median_seconds(files.names, large, place, pieces);
  if (!large_seconds) return fail(large_seconds.error());
  const double difference = std::max(*large_seconds - *small_seconds, 1e-6);
  const double bytes = static_cast<double>(std::max<std::int64_t>(1, (large - kSmall).count));
  return SaveRates{.bytes_per_second = bytes / difference, .seconds_each = *small_seconds, .measured = large};
}

}  // namespace plimsoll
