#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// What a GPU is sold as; it decides memory overheads and how far nominal rates are reached.
enum class GpuBoard : std::uint8_t {
  kGeForce,       ///< desktop consumer board; half-rate matrix products with fp32 accumulation
  kLaptop,        ///< the same chips under a laptop's power limit
  kProfessional,  ///< workstation and inference boards, GDDR with ECC
  kDatacenter,    ///< HBM boards
};

/// One row of the catalogue. Rates are dense nominal ones in TFLOP/s and GB/s; nothing where a value is unknown or the
/// unit does not exist.
struct GpuEntry {
  std::string name;
  std::string architecture;
  GpuBoard board = GpuBoard::kGeForce;
  std::int64_t multiprocessors = 0;
  std::string compute_capability;
  Bytes memory;
  double memory_gbs = 0;
  std::optional<double> l2_mib;
  std::optional<double> fp32_tflops;
  std::optional<double> tf32_tflops;
  std::optional<double> fp16_fp16acc_tflops;
  std::optional<double> fp16_tflops;  ///< matrix units with fp32 accumulation
  std::optional<double> bf16_tflops;
  std::optional<double> fp8_tflops;
  std::optional<double> fp64_tflops;
  std::optional<int> pcie_generation;
  std::optional<int> pcie_lanes;
  std::optional<double> nvlink_gbs;  ///< both directions together
  std::optional<double> power_watts;
  std::vector<std::string> aliases;  ///< shorter names that are taken for this board, though they leave its build open
  std::string source;
};

/// A precision and why it is the one to take, in words.
struct PrecisionAdvice {
  Precision precision = Precision::kFp32;
  std::string reason;
};

/// Reads a catalogue in CSV; an unusable row is an error with its line.
Result<std::vector<GpuEntry>> read_gpu_catalogue(std::string_view csv, std::string where);

/// The catalogue that the program carries (data/platforms/gpus.csv).
const std::vector<GpuEntry>& built_in_gpu_catalogue();

/// The entry that `name` means. Case, spaces, dashes, the order of words, the maker's name, remarks in brackets and a count
/// before it ("8x") do not matter, nor a size that is the board's own. A name
/// that leaves open which of several boards it is (or how much memory a consumer board has) is an error that lists
/// them.
Result<GpuEntry> find_gpu(const std::vector<GpuEntry>& entries, std::string_view name);

/// Whether `name` is one of the shorter names of `gpu`, which leave open which build is meant.
bool is_alias(const GpuEntry& gpu, std::string_view name);

/// Whether plimsoll can only foretell how a GPU would do: it has no kernels for its maker's boards.
bool is_simulated_only(const GpuEntry& gpu);

/// bf16 where there are matrix units for it, else fp16 with a scaled loss, else fp32.
PrecisionAdvice default_precision(const GpuEntry& gpu);

std::string_view to_text(GpuBoard board);
std::optional<GpuBoard> parse_gpu_board(std::string_view text);

}  // namespace plimsoll
