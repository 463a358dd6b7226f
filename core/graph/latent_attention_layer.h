#pragma once

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// As attention_forward, of latent attention. Only a pass that learns nothing has it, and no executor runs it: what it
/// says is what such a pass takes.
TensorId latent_attention_forward(LayerWriter& write, GroupId group, TensorId x);

}  // namespace plimsoll
