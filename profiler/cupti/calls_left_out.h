#pragma once

#include <span>
#include <string_view>

namespace plimsoll {

/// A call's name without the version that CUPTI gives it: "cudaLaunchKernel_v7000" is cudaLaunchKernel.
std::string_view call_name(std::string_view name_of_cupti);

/// Functions of CUDA whose calls a capture leaves out, in the alphabet's order.
std::span<const std::string_view> functions_left_out();

/// Whether calls of this function are left out, whatever its version and its default stream.
bool is_left_out(std::string_view name_of_cupti);

}  // namespace plimsoll
