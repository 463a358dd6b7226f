#pragma once

#include <vector>

#include "sim/stack/nets/onnx_state.h"

namespace plimsoll {

/// What a node makes, one for each of its outputs.
using OnnxStates = std::vector<OnnxState>;

OnnxStates one_state(Tensor tensor);
/// Indices and masks: memory of its type, no gradient.
OnnxStates whole_state(const OnnxCall& call, Shape shape, DType dtype = kMaskType);

/// Operators that change or repeat a tensor's dimensions; null when there is none of that name. `OnnxOperator` runs the node.
using OnnxOperator = OnnxStates (*)(const OnnxCall&);
OnnxOperator find_shape_operator(const std::string& op);
/// Products, norms, tables, convolutions, pools.
OnnxOperator find_layer_operator(const std::string& op);

}  // namespace plimsoll
