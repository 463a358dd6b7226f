#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/platform/platform.h"
#include "sim/cost/sample.h"

namespace plimsoll {

/// Reads measurements that anything may have written, as CSV or JSON (docs/calibration.md):
///
///   kind,dtype,shape,seconds,place
///   linear,bf16,rows=8192 inputs=768 outputs=3072,0.00021,
///   transfer,,bytes=67108864,0.0054,host->gpu0
///
/// {"format_version": 1, "samples": [{"kind": …, "dtype": …, "shape": …, "seconds": …, "place": …}]}
///
/// `kind` is a kernel's or "transfer"; `shape` names the sizes that are not 0. A kernel's place is a processor of `platform`
/// (nothing: the one that computes), a transfer's is one of its links. What names nothing of this is an error with its line.
Result<std::vector<Sample>> read_sample_file(std::string_view text, const std::string& where, const Platform& platform);

}  // namespace plimsoll
