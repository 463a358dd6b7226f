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

TEST_CASE("a slip of the pen is a letter in seven, and two at most") {
  const std::vector<std::string> names{"micro_batch_size", "seq", "learning_rate"};
  CHECK(slip_of("micro_batchsize", names) == "micro_batch_size");
  CHECK(slip_of("mirco_batch_sizes", names) == "micro_batch_size");
  CHECK(slip_of("mirco_batches_siz", names).empty());
  CHECK(slip_of("sea", names).empty());  // of three letters none may differ
  CHECK(slip_of("lerning_rate", names) == "learning_rate");
  CHECK(slip_of("", names).empty());
  CHECK(slip_of("s2_learning_rate", names).empty());
}

TEST_CASE("near_names has what the word begins, however long it goes on, and each name once") {
  const std::vector<std::string> names{"mistral-7b", "mixtral-8x7b", "llama-30b", "llama3-8b", "llama3-70b", "t5-small", "gpt2", "gpt2"};
  CHECK(near_names("mixtral", names).front() == "mixtral-8x7b");  // "mistral-7b" is four edits away
  CHECK(near_names("t5", names) == std::vector<std::string>{"t5-small"});
  CHECK(near_names("llama-3", names) == std::vector<std::string>{"llama3-8b", "llama3-70b", "llama-30b"});  // 3 is no 30
  CHECK(nearest_names("gpt", names, 8).size() == 7);
  CHECK(near_names("x", names).empty());  // a letter begins nothing
}
