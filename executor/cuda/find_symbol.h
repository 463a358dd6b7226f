#pragma once

#include <dlfcn.h>

namespace plimsoll {

/// The function of that name in a library that the loader opened; false where it has none.
template <typename Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace plimsoll
