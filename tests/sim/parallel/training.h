#pragma once

#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"
#include "sim/parallel/predict_parallel.h"

namespace plimsoll::test {

/// A GPT of 8 layers on so many A100, in nodes of 8; everything else is the test's.
inline ParallelQuestion gpt_on(std::int64_t gpus, std::int64_t layers = 8) {
  ParallelQuestion question;
  question.spec =
      *resolve_model("gpt:layers=" + std::to_string(layers) + ",hidden=1024,heads=16,vocab=32768,positions=1024");
  question.recipe.precision = Precision::kBf16Mixed;
  question.recipe.sequence = 1024;
  question.cluster =
      *make_cluster(*find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"), {.gpus = gpus, .nodes = {}, .network = {}});
  return question;
}

inline ParallelAnswer answer_of(const ParallelQuestion& question) {
  const auto answer = predict_parallel(question);
  INFO((answer ? std::string() : answer.error().text()));
  REQUIRE(answer);
  return *answer;
}

}  // namespace plimsoll::test
