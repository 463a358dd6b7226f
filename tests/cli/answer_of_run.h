#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace plimsoll::test {

/// Of a run that came to its end, asked with --json.
inline nlohmann::json losses_of(const ChildEnd& end) {
  INFO(end.err);
  REQUIRE(end.code == 0);
  return nlohmann::json::parse(end.out)["losses"];
}

/// What a line was refused with as bad input.
inline std::string refusal(const ChildEnd& end) {
  CHECK(end.code == 2);
  return end.err;
}

}  // namespace plimsoll::test
