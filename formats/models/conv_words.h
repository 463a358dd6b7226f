#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"

namespace plimsoll {

/// The convolutional net that a shape's first word names: resnet, vgg, densenet.
std::optional<ConvNetKind> parse_conv_word(std::string_view word);

/// Sets what a key of a convolutional net's shape says: depths=3-4-6-3, bottleneck=true, growth=32. Nothing for other keys.
std::optional<Result<void>> set_conv_field(ConvNet& net, std::string_view text, std::string_view key, std::string_view value);

/// What follows from the stages: blocks as layers, the classifier's width as hidden size. Stages that cannot be are left as
/// they are for validate() to refuse.
void fill_conv_net(ModelSpec& spec);

std::vector<std::string> conv_words();
std::vector<std::string> conv_keys();

}  // namespace plimsoll
