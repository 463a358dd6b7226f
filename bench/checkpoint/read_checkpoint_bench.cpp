// How fast load_weights reads a sharded checkpoint that is not in the page cache, beside the drive's own rate for the same
// files (O_DIRECT, 8 MiB at a time, four at once), and how much memory it takes beside the weights' place. The weights go
// into one place as large as the largest group, so that a checkpoint may be larger than the memory.
//
//   read_checkpoint_bench FOLDER SHAPE bf16|fp32     (a folder that is not there yet is made first)
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/plan/plan.h"
#include "executor/checkpoint/load_weights.h"
#include "executor/checkpoint/save_weights.h"
#include "formats/models/shape_words.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr std::size_t kPiece = std::size_t{8} << 20;
constexpr std::align_val_t kPages{static_cast<std::size_t>(kStorageAlignment.count)};
constexpr int kPairs = 3;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::int64_t largest_group(const ModelSpec& spec) {
  std::int64_t most = 0;
  for (const ParameterGroup& group : lay_out_parameters(spec).groups) most = std::max(most, group.elements);
  return most;
}

std::vector<fs::path> shards_in(const fs::path& folder) {
  std::vector<fs::path> shards;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") shards.push_back(entry.path());
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

double gigabytes(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const fs::path& shard : shards_in(folder)) bytes += fs::file_size(shard);
  return static_cast<double>(bytes) / 1e9;
}

void leave_the_page_cache(const fs::path& folder) {
  for (const fs::path& shard : shards_in(folder)) {
    const int file = ::open(shard.c_str(), O_RDONLY | O_CLOEXEC);
    ::fsync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

/// Seconds that the drive takes for all bytes of the shards.
double read_raw(const fs::path& folder) {
  const auto begin = Clock::now();
  for (const fs::path& shard : shards_in(folder)) {
    const int file = ::open(shard.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    const auto size = static_cast<std::size_t>(fs::file_size(shard));
    std::atomic<std::size_t> next{0};
    const auto read_pieces = [&] {
      auto* piece = new (kPages) std::byte[kPiece];
      for (std::size_t at = next.fetch_add(kPiece); at < size; at = next.fetch_add(kPiece)) {
        if (::pread(file, piece, kPiece, static_cast<off_t>(at)) <= 0) std::abort();
      }
      ::operator delete[](piece, kPages);
    };
    std::array<std::jthread, 4> readers;
    for (std::jthread& reader : readers) reader = std::jthread(read_pieces);
    for (std::jthread& reader : readers) reader.join();
    ::close(file);
  }
  return seconds_since(begin);
}

double load(const fs::path& folder, const ModelSpec& spec, std::vector<float>& place) {
  const ParameterLayout layout = lay_out_parameters(spec);
  const auto begin = Clock::now();
  const auto loaded = load_weights(folder, spec, Precision::kFp32, [&](TensorKind, GroupId group, const FillState& fill) {
    fill(std::as_writable_bytes(std::span(place).first(static_cast<std::size_t>(layout.at(group).elements))));
  });
  if (!loaded) throw EnvironmentError(loaded.error());
  return seconds_since(begin);
}

void make(const fs::path& folder, const ModelSpec& spec, StoredType type) {
  std::vector<float> values(static_cast<std::size_t>(largest_group(spec)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8191) / 8192;
  const auto saved = save_weights(folder, spec, Precision::kFp32, {.type = type}, [&](TensorKind, GroupId group) {
    return std::as_bytes(std::span(values).first(static_cast<std::size_t>(lay_out_parameters(spec).at(group).elements)));
  });
  if (!saved) throw EnvironmentError(saved.error());
}

/// High-water mark of this process's memory.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    status >> word;
    return std::stod(word) * 1024 / 1e6;
  }
  return 0;
}

int run(const fs::path& folder, const std::string& shape, const std::string& type) {
  const auto spec = parse_shape_words(shape);
  if (!spec) throw EnvironmentError(spec.error());
  if (!fs::exists(folder)) {
    make(folder, *spec, type == "bf16" ? StoredType::kBf16 : StoredType::kF32);
    fmt::print("made {:.2f} GB in {} shards; run again to measure\n", gigabytes(folder), shards_in(folder).size());
    return 0;
  }
  std::vector<float> place(static_cast<std::size_t>(largest_group(*spec)), 0.0F);
  const double before = peak_megabytes();
  fmt::print("{} in {}: {:.2f} GB, {} shards\n", shape, type, gigabytes(folder), shards_in(folder).size());
  for (int i = 0; i < kPairs; ++i) {
    leave_the_page_cache(folder);
    const double raw = gigabytes(folder) / read_raw(folder);
    leave_the_page_cache(folder);
    const double loaded = gigabytes(folder) / load(folder, *spec, place);
    fmt::print("  drive {:.2f} GB/s, load_weights {:.2f} GB/s: {:.0f} %\n", raw, loaded, 100 * loaded / raw);
    std::fflush(stdout);
  }
  fmt::print("  memory beside the weights' place: {:.1f} MB\n", peak_megabytes() - before);
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "read_checkpoint_bench FOLDER SHAPE bf16|fp32\n");
    return 2;
  }
  try {
    return plimsoll::run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
}
