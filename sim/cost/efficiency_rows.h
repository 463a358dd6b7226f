#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// Matrix products of one type measured on one GPU.
struct ProductRow {
  std::string gpu;
  std::string precision;
  double samples = 0;
  double best = 0;
  double median_large = 0;
};

/// One streaming kernel measured on one GPU.
struct BandwidthRow {
  std::string gpu;
  std::string op;
  double share = 0;
};

/// Attention on one sort of board; empty conditions match any.
struct AttentionRow {
  std::string architecture;
  std::optional<GpuBoard> board;
  std::string dtype;
  std::string kernel;  ///< "cudnn", "flash3"; empty: FlashAttention, or whatever else is fastest there
  double head_dim = 0;
  bool backward = false;
  double at_512 = 0;
  double at_8192 = 0;
  bool measured = false;
};

/// Read the tables of data/calibration; a share that is not in (0, 3] is refused with its line.
Result<std::vector<ProductRow>> read_product_rows(std::string_view csv, std::string where);
Result<std::vector<BandwidthRow>> read_bandwidth_rows(std::string_view csv, std::string where);
Result<std::vector<AttentionRow>> read_attention_rows(std::string_view csv, std::string where);

}  // namespace plimsoll
