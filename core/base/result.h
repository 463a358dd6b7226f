#pragma once

#include <tl/expected.hpp>

#include "core/base/error.h"

namespace plimsoll {

/// A value, or the reason why there is none. Expected outcomes (a parse error, "does not fit") travel this way.
template <typename T>
using Result = tl::expected<T, Error>;

/// Shorthand for returning an error from a function that yields a Result.
inline tl::unexpected<Error> fail(Error error) { return tl::make_unexpected(std::move(error)); }

}  // namespace plimsoll
