#include <catch2/catch.hpp>

#include <numeric>

#include "tests/sim/schedule/made.h"

namespace plimsoll::test {
namespace {

/// Every schedule that has a name, at a size that all of them have.
std::vector<ScheduleRequest> all_kinds(std::uint32_t ranks, std::uint32_t micro_batches, const RankCosts& costs = {}) {
  std::vector<ScheduleRequest> requests;
  for (const ScheduleKind& kind : schedule_kinds()) {
    requests.push_back({.name = kind.name, .ranks = ranks, .micro_batches = micro_batches, .costs = costs});
  }
  return requests;
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

double bubble(const Made& made) { return made.span() - 3.0 * made.schedule.micro_batches; }

}  // namespace

TEST_CASE("every schedule trains at every size that it accepts") {
  // made() verifies: complete, in order, on one rank each, no deadlock.
  for (const auto& [ranks, count] : {std::pair{2U, 4U}, {4U, 8U}, {6U, 12U}, {8U, 64U}, {16U, 32U}, {64U, 128U}}) {
    for (const ScheduleRequest& request : all_kinds(ranks, count)) {
      INFO(request.name << " " << ranks << " " << count);
      const Made one = made(request);
      for (const Ticks busy : one.timing.busy) CHECK(one.costs.units(busy) == 3.0 * count);
      CHECK(one.timing.bubble_rate() >= 0);
      CHECK(one.timing.bubble_fraction() >= one.timing.bubble_rate());
      CHECK(one.makespan() >= 3.0 * count);
    }
  }
  for (const std::uint32_t chunks : {1U, 2U, 3U, 5U, 8U}) {
    for (const char* name : {"interleaved", "looped-bfs", "hanayo"}) {
      if (std::string(name) == "hanayo" && chunks % 2 == 1) continue;
      made({.name = name, .ranks = 8, .micro_batches = 32, .chunks = chunks});
    }
  }
}

TEST_CASE("short batches are made too where a schedule allows them") {
  for (const char* name : {"naive", "gpipe", "pipedream", "1f1b", "looped-bfs", "zb-h1", "zb-h2", "zb-v", "v-half",
                           "v-min", "hanayo", "bpipe", "auto"}) {
    for (std::uint32_t count = 1; count <= 9; ++count) made({.name = name, .ranks = 5, .micro_batches = count});
    CHECK(made({.name = name, .ranks = 1, .micro_batches = 3}).timing.bubble_fraction() == 0);
  }
}

TEST_CASE("bubbles at unit costs are the closed forms") {
  // T = 3 for forward, input gradient and weight gradient together; p ranks, bubbles of the longest span.
  for (const std::uint32_t p : {2U, 4U, 8U, 16U, 32U, 64U}) {
    const std::uint32_t m = 4 * p;
    const auto of = [&](const char* name, std::optional<std::uint32_t> chunks = {}) {
      return bubble(made({.name = name, .ranks = p, .micro_batches = m, .chunks = chunks}));
    };
    INFO("p " << p);
    CHECK(of("gpipe") == 3 * (p - 1));                                       // (p − 1) T
    CHECK(of("1f1b") == 3 * (p - 1));                                        // (p − 1) T
    CHECK(of("bpipe") == 3 * (p - 1));                                       // as 1F1B
    CHECK(of("interleaved", 2) == Approx(3.0 * (p - 1) / 2));                // (p − 1) T / v
    CHECK(of("interleaved", 8) == Approx(3.0 * (p - 1) / 8).epsilon(1e-9));  //
    CHECK(of("looped-bfs", 4) == Approx(3.0 * (p - 1) / 4));                 // (p − 1) T / v
    CHECK(of("zb-h1") == p - 1);                                             // (p − 1)(TF + TI − TW)
    CHECK(of("zb-h2") == 0);                                                 // (p − 1)(TF + TI − 2 TW)
    CHECK(of("zb-v") == 0);
    CHECK(of("v-half") == (p == 2 ? 0.5 : 1.5 * p - 3.5));
    CHECK(of("v-min") == 2 * p - 2.5 - (p % 3 == 0 ? 1 : 0));
    CHECK(of("naive") == 3.0 * m * (p - 1));
  }
}

TEST_CASE("an overlapped pair that ends as one has dualpipe's published bubble") {
  // (PP/2 − 1)(F&B + B − 3W) for PP stages of forward 1, input gradient 1, weight gradient 1, so B = 2 and F&B = 3.
  for (const std::uint32_t ranks : {2U, 4U, 8U, 16U}) {
    const Made both = made({.name = "dualpipe", .ranks = ranks, .micro_batches = 2 * ranks + 4, .overlapped = true});
    CHECK(bubble(both) == (ranks / 2 - 1) * (3 + 2 - 3));
    CHECK(largest(peak_activations(both.schedule, both.timing)) == ranks + 1);
    CHECK(weight_copies(both.schedule) == std::vector<double>(ranks, 2));
    const Made there_and_back =
        made({.name = "dualpipe-v", .ranks = ranks, .micro_batches = 2 * ranks + 4, .overlapped = true});
    // PP = 2 · ranks stages, each of half a rank's time: (ranks − 1)(3 + 2 − 3) / 2.
    CHECK(bubble(there_and_back) == (ranks - 1) * (3 + 2 - 3) / 2.0);
    CHECK(largest(peak_activations(there_and_back.schedule, there_and_back.timing)) == (2 * ranks + 1) / 2.0);
  }
}

TEST_CASE("chimera has its published makespan, its peaks, and the symmetry of its two directions") {
  for (const std::uint32_t d : {2U, 4U, 8U, 16U, 32U}) {
    const Made equal = made({.name = "chimera", .ranks = d, .micro_batches = d, .costs = {1, 0.5, 0.5, 0}});
    CHECK(equal.makespan() == 2 * d + d - 2);  // forward as long as backward: 2N + D − 2
    CHECK(made({.name = "chimera", .ranks = d, .micro_batches = 4 * d, .costs = {1, 0.5, 0.5, 0}}).makespan() ==
          8 * d + d - 2);
    const Made unit = made({.name = "chimera", .ranks = d, .micro_batches = d});
    CHECK(unit.makespan() == 3 * d + 2 * (d - 2));  // backward twice as long: 3D + 2(D − 2)
    const auto peaks = peak_activations(unit.schedule, unit.timing);
    CHECK(peaks[0] == d / 2 + 1);  // d = 4, rank 0: F0 F1 down, F0 up, and only then a backward
    CHECK(peaks[d / 2] == d);
    for (std::size_t rank = 0; rank < d; ++rank) {
      CHECK(equal.timing.span[rank] == equal.timing.span[d - 1 - rank]);
      CHECK(peaks[rank] == peaks[d - 1 - rank]);
    }
  }
}

TEST_CASE("1f1b pays for hops as its closed form says") {
  // (m + p − 1) T + [2 (p − 1) m / p + 2 (p − 2)] C where p divides m.
  for (const auto& [p, m] : {std::pair{2U, 8U}, {4U, 8U}, {4U, 16U}, {8U, 32U}, {16U, 64U}}) {
    const Made one = made({.name = "1f1b", .ranks = p, .micro_batches = m, .costs = {1, 1, 1, 0.1}});
    CHECK(one.makespan() == Approx((m + p - 1) * 3 + (2.0 * (p - 1) * m / p + 2 * (p - 2)) * 0.1));
  }
}

TEST_CASE("peaks are those of the published table") {
  for (const std::uint32_t p : {2U, 4U, 7U, 8U, 16U}) {
    const auto peaks = [&](const char* name, double kept = 1) {
      const Made one = made({.name = name, .ranks = p, .micro_batches = 4 * p});
      return peak_activations(one.schedule, one.timing, kept);
    };
    INFO("p " << p);
    CHECK(peaks("gpipe") == std::vector<double>(p, 4 * p));
    CHECK(largest(peaks("naive")) == 1);
    CHECK(largest(peaks("looped-bfs")) == 4 * p);
    CHECK(largest(peaks("interleaved")) == p + (p - 1) / 2.0);
    CHECK(largest(peaks("v-half")) == (p + 2) / 2);
    CHECK(largest(peaks("v-min")) == (p + 4) / 3);
    CHECK(peaks("zb-v") == std::vector<double>(p, p));
    CHECK(largest(peaks("bpipe")) <= (p + 3) / 2);  // ⌈(p + 2) / 2⌉
    for (std::uint32_t r = 0; r < p; ++r) {
      // (p − r) M_B + r M_W and (2 (p − r) − 1) M_B + 2 r M_W, with M_W a quarter of M_B.
      CHECK(peaks("zb-h1", 0.25)[r] <= (p - r) + 0.25 * r);
      CHECK(peaks("zb-h2", 0.25)[r] <= (2 * (p - r) - 1) + 0.25 * 2 * r);
      CHECK(peaks("zb-h1", 0)[r] == p - r);
      CHECK(peaks("zb-h2", 0)[r] == 2 * (p - r) - 1);
    }
  }
}

TEST_CASE("interleaved with one chunk is 1f1b, and 2bw and pipedream have its orders") {
  const auto orders = [](const char* name, std::optional<std::uint32_t> chunks = {}) {
    return made({.name = name, .ranks = 4, .micro_batches = 12, .chunks = chunks}).schedule.orders;
  };
  CHECK(orders("interleaved", 1) == orders("1f1b"));
  CHECK(orders("pipedream") == orders("1f1b"));
  CHECK(orders("2bw") == orders("1f1b"));
}

TEST_CASE("longer batches have smaller bubbles, down to none") {
  for (const ScheduleRequest& small : all_kinds(4, 16)) {
    if (small.name == "naive") continue;
    ScheduleRequest big = small;
    big.micro_batches = 1024;
    INFO(small.name);
    CHECK(made(big).timing.bubble_fraction() <= made(small).timing.bubble_fraction());
    if (small.name != "chimera") CHECK(made(big).timing.bubble_fraction() < 0.015);  // its units do not interlock
  }
}

TEST_CASE("slower ops never shorten a fixed order, and a unit of time is only a unit") {
  for (const ScheduleRequest& request : all_kinds(4, 8, {1, 1.5, 0.75, 0.25})) {
    if (request.name == "auto") continue;  // builds another order for other costs
    INFO(request.name);
    const double before = made(request).makespan();
    for (double RankCosts::*cost :
         {&RankCosts::forward, &RankCosts::input_gradient, &RankCosts::weight_gradient, &RankCosts::hop}) {
      ScheduleRequest slower = request;
      slower.costs.*cost *= 1.25;
      CHECK(made(slower).makespan() >= before);
    }
    ScheduleRequest scaled = request;
    scaled.costs = {4, 6, 3, 1};
    CHECK(made(scaled).makespan() == Approx(4 * before).epsilon(1e-12));
  }
}

TEST_CASE("auto keeps to its memory cap and is no slower than any schedule with a stage a rank within it") {
  for (const RankCosts& costs : {RankCosts{1, 1, 1, 0}, RankCosts{2, 3, 1, 0.25}, RankCosts{1, 1.2, 2, 0}}) {
    for (const double cap : {1.0, 2.0, 3.5, 6.0, 12.0, 24.0}) {
      const Made best = made({.name = "auto", .ranks = 6, .micro_batches = 24, .costs = costs, .memory_cap = cap});
      INFO("cap " << cap);
      CHECK(largest(peak_activations(best.schedule, best.timing)) <= cap);
      for (const char* name : {"naive", "1f1b", "zb-h1", "zb-h2", "gpipe"}) {
        const Made other = made({.name = name, .ranks = 6, .micro_batches = 24, .costs = costs});
        if (largest(peak_activations(other.schedule, other.timing)) <= cap) CHECK(best.span() <= other.span());
      }
    }
  }
  const auto none = make_schedule({.name = "auto", .ranks = 4, .micro_batches = 8, .memory_cap = 0.5});
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == ErrorKind::kInfeasible);
}

TEST_CASE("hanayo's waves have the bubbles of a backward-first list schedule") {
  // p = 4 and 8, as many micro-batches as ranks, 1, 2 and 4 waves.
  const auto rate = [](std::uint32_t p, std::uint32_t chunks) {
    return made({.name = "hanayo", .ranks = p, .micro_batches = p, .chunks = chunks}).timing.bubble_rate();
  };
  CHECK(rate(4, 2) == Approx(0.333).margin(5e-4));
  CHECK(rate(4, 4) == Approx(0.213).margin(5e-4));
  CHECK(rate(4, 8) == Approx(0.119).margin(5e-4));
  CHECK(rate(8, 2) == Approx(0.368).margin(5e-4));
  CHECK(rate(8, 4) == Approx(0.238).margin(5e-4));
  CHECK(rate(8, 8) == Approx(0.135).margin(5e-4));
}

TEST_CASE("sizes that a schedule does not have are refused with the nearest that it has") {
  const auto said = [](const ScheduleRequest& request) {
    const auto schedule = make_schedule(request);
    return schedule ? std::string("made") : schedule.error().text();
  };
  using Catch::Contains;
  CHECK_THAT(said({.name = "chimera", .ranks = 5, .micro_batches = 10}), Contains("take --stages 4 or 6"));
  CHECK_THAT(said({.name = "chimera", .ranks = 4, .micro_batches = 10}), Contains("take --micro-batches 8 or 12"));
  CHECK_THAT(said({.name = "dualpipe", .ranks = 3, .micro_batches = 10}), Contains("take --stages 2 or 4"));
  CHECK_THAT(said({.name = "dualpipe", .ranks = 4, .micro_batches = 9}), Contains("take --micro-batches 8 or 10"));
  CHECK_THAT(said({.name = "dualpipe-v", .ranks = 4, .micro_batches = 7}), Contains("take --micro-batches 8"));
  CHECK_THAT(said({.name = "interleaved", .ranks = 4, .micro_batches = 7}), Contains("take --micro-batches 4 or 8"));
  CHECK_THAT(said({.name = "interleaved", .ranks = 4, .micro_batches = 10, .group = 3}), Contains("groups of 3"));
  CHECK(said({.name = "interleaved", .ranks = 4, .micro_batches = 10, .group = 5}) == "made");
  CHECK_THAT(said({.name = "2bw", .ranks = 4, .micro_batches = 3}), Contains("take --micro-batches 4"));
  CHECK_THAT(said({.name = "gpipe", .ranks = 4, .micro_batches = 8, .chunks = 2}), Contains("take --chunks 1"));
  CHECK_THAT(said({.name = "hanayo", .ranks = 4, .micro_batches = 8, .chunks = 3}), Contains("take --chunks 2 or 4"));
  CHECK_THAT(said({.name = "hanayo", .ranks = 4, .micro_batches = 8, .chunks = 0}), Contains("take --chunks 2"));
  CHECK_THAT(said({.name = "gpipe", .ranks = 0, .micro_batches = 8}), Contains("--stages"));
  CHECK_THAT(said({.name = "gpipe", .ranks = 4, .micro_batches = 0}), Contains("--micro-batches"));
  CHECK_THAT(said({.name = "gpipe", .ranks = 4000, .micro_batches = 4000000000U}), Contains("take 1 to"));
  CHECK_THAT(said({.name = "zb-h3", .ranks = 4, .micro_batches = 8}), Contains("did you mean zb-h1"));
}

}  // namespace plimsoll::test
