#include "core/base/nearest_names.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

TEST_CASE("nearest_names puts a name that contains the wanted one first, then fewest edits") {
  const std::vector<std::string> names{"gpt2", "gpt2-xl", "llama3-8b", "mistral-7b"};
  CHECK(nearest_names("gtp2-xl", names, 1) == std::vector<std::string>{"gpt2-xl"});
  CHECK(nearest_names("8B", names, 1) == std::vector<std::string>{"llama3-8b"});
  CHECK(did_you_mean("mistral", names).find("mistral-7b") != std::string::npos);
}

TEST_CASE("nearest_names answers hostile input in bounded work") {
  const std::string huge(1'000'000, 'x');
  CHECK(nearest_names(huge, {"gpt2", "llama"}, 2).size() == 2);
  CHECK(nearest_names("", {}, 3).empty());
}
