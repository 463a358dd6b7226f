#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/trace/recording.h"

namespace plimsoll {

/// Reads a Chrome trace: what PyTorch's profiler (Kineto) exports, of any year, or another program's; plain or packed with gzip.
/// The file streams through a window of a megabyte. What writers get wrong and readers forgive (NaN, commas before brackets,
/// times as texts, a missing end of an array) is forgiven; anything else is an error that names the byte. Events that are no
/// device work, call, operator, annotation, wait or memory event are counted by their category, as losses.
/// `everything`: for those who draw, these become ranges too.
Result<Recording> read_kineto(const std::string& path, bool everything = false);

}  // namespace plimsoll
