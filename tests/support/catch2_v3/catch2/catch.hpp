#pragma once

// The tests are written for Catch2 2, which Debian 12 and Ubuntu 22.04 have; with these names Ubuntu 24.04's Catch2 3 runs them.
#include <catch2/catch_all.hpp>

#include <string>

using Catch::Approx;

namespace Catch {

using Matchers::EndsWith;
using Matchers::StartsWith;

inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }

}  // namespace Catch
