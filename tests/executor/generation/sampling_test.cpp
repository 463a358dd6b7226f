#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "executor/generation/sampling.h"

namespace plimsoll::test {
namespace {

// Probabilities 0.5, 0.25, 0.125, 0.125 at temperature 1.
const std::array<float, 4> kLogits{std::log(4.0F), std::log(2.0F), 0.0F, 0.0F};

/// How often each token comes in `draws` draws, which differ in how many tokens were seen.
std::array<int, 4> frequencies(SamplingOptions options, int draws) {
  std::array<int, 4> found{};
  for (int i = 0; i < draws; ++i) {
    const std::vector<std::int32_t> seen(static_cast<std::size_t>(i), 3);
    ++found[static_cast<std::size_t>(sample(kLogits, seen, options))];
  }
  return found;
}

}  // namespace

TEST_CASE("temperature 0 takes the most probable token, of equal ones the first") {
  CHECK(sample(kLogits, {}, {.temperature = 0}) == 0);
  const std::array<float, 3> equal{1.0F, 2.0F, 2.0F};
  CHECK(sample(equal, {}, {.temperature = 0}) == 1);
}

TEST_CASE("tokens come as often as their probabilities say") {
  // 4,000 draws: 2,000, 1,000, 500 and 500; five standard deviations √(4000 p (1−p)) are 158, 137 and 105.
  const std::array<int, 4> found = frequencies({.temperature = 1, .top_k = 0, .top_p = 1}, 4000);
  CHECK(std::abs(found[0] - 2000) < 158);
  CHECK(std::abs(found[1] - 1000) < 137);
  CHECK(std::abs(found[2] - 500) < 105);
  CHECK(std::abs(found[3] - 500) < 105);
}

TEST_CASE("a temperature of one half squares the probabilities' ratios") {
  // 16 : 4 : 1 : 1, so token 0 has 16/22 = 0.727: 1,454 of 2,000 draws; five deviations √(2000 · 0.727 · 0.273) are 100.
  const std::array<int, 4> found = frequencies({.temperature = 0.5, .top_k = 0, .top_p = 1}, 2000);
  CHECK(std::abs(found[0] - 1454) < 100);
}

TEST_CASE("top-k keeps the k most probable tokens, top-p the fewest that reach p") {
  CHECK(frequencies({.temperature = 1, .top_k = 2, .top_p = 1}, 300)[2] == 0);
  // 0.5 falls short of 0.6, 0.5 + 0.25 does not; 0.5 is just enough for 0.5.
  const std::array<int, 4> two = frequencies({.temperature = 1, .top_k = 0, .top_p = 0.6}, 300);
  CHECK(two[1] > 0);
  CHECK(two[2] + two[3] == 0);
  CHECK(frequencies({.temperature = 1, .top_k = 0, .top_p = 0.5}, 300)[0] == 300);
}

TEST_CASE("a repetition penalty divides a positive logit and multiplies a negative one") {
  const std::array<float, 3> logits{2.0F, 1.5F, -1.0F};
  const std::vector<std::int32_t> seen{0, 0};
  CHECK(sample(logits, seen, {.repetition_penalty = 1.3, .temperature = 0}) == 0);  // 2 / 1.3 = 1.54 > 1.5
  CHECK(sample(logits, seen, {.repetition_penalty = 1.4, .temperature = 0}) == 1);  // 2 / 1.4 = 1.43 < 1.5
  const std::array<float, 2> negative{-1.0F, -1.1F};
  CHECK(sample(negative, seen, {.repetition_penalty = 1.2, .temperature = 0}) == 1);  // −1 · 1.2 = −1.2 < −1.1
}

TEST_CASE("the same seed and the same text before it give the same token, another seed another text") {
  const SamplingOptions options{.temperature = 1, .top_k = 0, .top_p = 1, .seed = 5};
  SamplingOptions other = options;
  other.seed = 6;
  int differing = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    const std::vector<std::int32_t> seen(i, 1);
    CHECK(sample(kLogits, seen, options) == sample(kLogits, seen, options));
    differing += sample(kLogits, seen, options) != sample(kLogits, seen, other) ? 1 : 0;
  }
  CHECK(differing > 10);
}

TEST_CASE("sampling options out of range are refused by name") {
  CHECK(validate(SamplingOptions{}));
  CHECK(validate({.temperature = -1}).error().what.find("--temperature") == 0);
  CHECK(validate({.temperature = NAN}).error().what.find("--temperature") == 0);
  CHECK(validate({.top_k = -1}).error().what.find("--top-k") == 0);
  CHECK(validate({.top_p = 0}).error().what.find("--top-p") == 0);
  CHECK(validate({.repetition_penalty = 0}).error().what.find("--repetition-penalty") == 0);
}

}  // namespace plimsoll::test
