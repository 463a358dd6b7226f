#pragma once

#include "core/graph/graph.h"

namespace plimsoll {

/// Takes away the backward ops whose results neither the optimizer nor another backward op reads. Tensors stay in the list.
void drop_unread(Graph& graph);

}  // namespace plimsoll
