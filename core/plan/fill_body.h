#pragma once

namespace plimsoll {

/// The body that runs once before a row of steps that overlap: it makes what the first of them finds of steps before it. Stands for
/// that first step. Plans whose steps begin with nothing of the steps before have none.
inline constexpr const char* kFillBody = "fill";

}  // namespace plimsoll
