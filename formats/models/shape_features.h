#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"

namespace plimsoll {

/// Keys of a shape in words that say what a model has, not how large it is: position=alibi, parallel=true, norm_bias=false.
/// They change what the family's word brought.
bool is_feature_key(std::string_view key);

/// Sets the field of a key for which is_feature_key holds; `text` is the whole shape, for errors.
Result<void> set_feature(ModelSpec& spec, std::string_view text, std::string_view key, std::string_view value);

std::vector<std::string> feature_keys();

}  // namespace plimsoll
