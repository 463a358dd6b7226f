#include "sim/parallel/slowed_backward.h"

#include "tests/sim/parallel/training.h"

namespace plimsoll::test {
namespace {

/// 16 A100 in two nodes, four replicas of two stages of two tensor ranks; every collective that can hide does.
ParallelQuestion overlapped(std::int64_t sms) {
  ParallelQuestion question = gpt_on(16);
  question.cluster = *make_cluster(*find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"),
                                   {.gpus = 16, .nodes = {}, .network = {}, .collective_sms = sms});
  question.layout.data_ranks = 4;
  question.layout.tensor_ranks = question.layout.stages = 2;
  question.layout.global_batch = 16;
  return question;
}

}  // namespace

TEST_CASE("Kernels beside a collective that takes a quarter of the multiprocessors go at three quarters of their pace") {
  // 10 s of kernels beside 4 s of a collective: 3 s of their work is done meanwhile, 7 s remain: 11 s for both, 3 s of 4 hidden.
  CHECK(hidden_beside(4, 10, 0.25) == 3);
  // Beside 20 s: the kernels end after 10 / 0.75 = 13.3 s, the collective at 20 s: all 10 s of the kernels are hidden.
  CHECK(hidden_beside(20, 10, 0.25) == 10);
  CHECK(hidden_beside(4, 10, 0) == 4);
  CHECK(hidden_beside(20, 10, 0) == 10);
}

TEST_CASE("A backward pass is slowed from its first bucket on, while a bucket is under way") {
  // Two parts of 6 s, buckets of 4 s, a half taken: the first bucket is there at 6, under way until 10; meanwhile 2 s of the second part
  // are done, the other 4 s end at 14; the second bucket at 18.
  const SlowedBackward slowed = slow_backward({.begin = 0, .length = 12, .buckets = 2, .seconds = 4}, 0, 0.5);
  CHECK(slowed.ready == std::vector<double>{6, 14});
  CHECK(slowed.end == 14);
  CHECK(slowed.sent == 18);
  // Buckets of 20 s: all of the second part is slowed, 6 / 0.5.
  CHECK(slow_backward({.begin = 0, .length = 12, .buckets = 2, .seconds = 20}, 0, 0.5).end == 18);
  // A collective of another stage is under way until 4: 2 s of the first part are done by then.
  CHECK(slow_backward({.begin = 0, .length = 12, .buckets = 1, .seconds = 1}, 4, 0.5).end == 14);
  const SlowedBackward alone = slow_backward({.begin = 1, .length = 12, .buckets = 2, .seconds = 4}, 0, 0);
  CHECK(alone.ready == std::vector<double>{7, 13});
  CHECK(alone.sent == 17);
}

TEST_CASE("The more multiprocessors collectives take, the longer a step, and never by more than their share of it") {
  double before = answer_of(overlapped(0)).step_seconds;
  const double alone = before;
  for (const std::int64_t sms : {8, 20, 54}) {
    const double step = answer_of(overlapped(sms)).step_seconds;
    CHECK(step > before);
    CHECK(step < alone / (1 - static_cast<double>(sms) / 108));
    before = step;
  }
}

TEST_CASE("Folded ranks are slowed as all are, and the parts of a step add up") {
  ParallelQuestion question = overlapped(20);
  const ParallelAnswer folded = answer_of(question);
  question.exact = true;
  const ParallelAnswer exact = answer_of(question);
  CHECK(folded.step_seconds == exact.step_seconds);
  for (const RankAnswer& rank : folded.ranks) {
    const RankSeconds& s = rank.seconds;
    const double sum = s.forward + s.backward + s.tensor_sends + s.expert_sends + s.shard_sends + s.bubble + s.gradient_sends +
                       s.optimizer + s.wait;
    CHECK(sum == Approx(folded.step_seconds));
    CHECK(s.wait >= -1e-12);
    CHECK(s.gradient_sends >= 0);
  }
}

TEST_CASE("Where nothing is hidden, collectives slow nothing") {
  const auto step = [](std::int64_t sms) {
    ParallelQuestion question = overlapped(sms);
    question.layout.overlaps_gradients = question.layout.overlaps_tensor = false;
    return answer_of(question).step_seconds;
  };
  CHECK(step(20) == step(0));
}

TEST_CASE("Collectives on all multiprocessors of a GPU, or fewer than none, are refused by the option's name") {
  for (const std::int64_t sms : {-1, 108, 200}) {
    const auto cluster = make_cluster(*find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"),
                                      {.gpus = 8, .nodes = {}, .network = {}, .collective_sms = sms});
    REQUIRE_FALSE(cluster);
    CHECK(cluster.error().where == "--collective-sms");
  }
}

}  // namespace plimsoll::test
