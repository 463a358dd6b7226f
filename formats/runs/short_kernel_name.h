#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// "gemm" of "void ns::gemm<float>(float*)": what is left of a demangled name without result, scope, templates and parameters.
std::string short_kernel_name(std::string_view demangled);

}  // namespace plimsoll
