#pragma once

#include <cstdint>
#include <filesystem>

namespace plimsoll {

/// Which token stands for a hidden one, by the tokenizer that lies in `folder` (vocab.txt or tokenizer.json: "[MASK]" or
/// "<mask>"); −1 when there is none that says so.
std::int64_t find_mask_token(const std::filesystem::path& folder);

}  // namespace plimsoll
