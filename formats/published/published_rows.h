#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/published/published_row.h"

namespace plimsoll {

/// True when the first line of `text` is the header of a file of published rows.
bool looks_like_published_rows(std::string_view text);

/// Reads a file of published rows; its header tells which columns it must have (further ones are kept). A row
/// without system, model or metric is an error with file, line and column; sources print all sorts of things as values and
/// sizes, and what is no number there is the trouble of its row alone.
Result<std::vector<PublishedRow>> read_published_rows(std::string_view text, std::string where);

/// The rows that the program carries: memory, throughput, offload, parallel, operators, further throughput, in that
/// order.
Result<std::vector<PublishedRow>> shipped_published_rows();

/// Rows of inference, which are no training steps: data/published/inference.csv.
Result<std::vector<PublishedRow>> shipped_inference_rows();

/// Rows of many devices: those of data/published/parallel.csv, and further ones of the same sources (parallel_more.csv).
Result<std::vector<PublishedRow>> shipped_parallel_rows();

}  // namespace plimsoll
