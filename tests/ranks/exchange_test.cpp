#include <catch2/catch.hpp>

#include <cstring>
#include <thread>

#include "core/base/error.h"
#include "executor/collectives/rank_watch.h"
#include "executor/collectives/run_exchange.h"
#include "tests/support/thread_transport.h"

namespace plimsoll {
namespace {

using std::chrono::seconds;

std::span<std::byte> bytes_of(std::vector<float>& values) { return std::as_writable_bytes(std::span(values)); }

/// Runs `work` once a rank, all at once.
template <typename Work>
void on_ranks(std::uint32_t ranks, const Work& work) {
  test::ThreadHub hub(ranks);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back([&, rank] { work(rank, hub.at(rank)); });
}

Exchange of_all(ExchangeKind kind, std::uint32_t ranks) {
  Exchange exchange{.kind = kind, .dtype = DType::kFp32, .channel = 5, .ranks = {}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) exchange.ranks.push_back(rank);
  return exchange;
}

}  // namespace

TEST_CASE("parts cover all elements once, and the last may be shorter or empty") {
  // 7 elements over 3: ⌈7/3⌉ = 3, so 3, 3, 1; 2 over 4: one each for two.
  CHECK(part_of(7, 3, 0).count == 3);
  CHECK(part_of(7, 3, 2).first == 6);
  CHECK(part_of(7, 3, 2).count == 1);
  CHECK(part_of(2, 4, 1).count == 1);
  CHECK(part_of(2, 4, 3).count == 0);
}

TEST_CASE("a sum over ranks is made in the order of the ranks, whoever makes it") {
  // In fp32 1e8 + 1 is 1e8, so (1e8 + 1) − 1e8 + 1 is 1 from the left; any other order gives 0 or 2.
  const std::vector<float> terms{1e8f, 1.0f, -1e8f, 1.0f};
  for (const std::size_t elements : {1u, 3u, 9u}) {
    on_ranks(4, [&](std::uint32_t rank, Transport& transport) {
      std::vector<float> whole(elements, terms[rank]);
      std::vector<float> workspace(3 * static_cast<std::size_t>(longest_part(static_cast<std::int64_t>(elements), 4)));
      run_exchange(of_all(ExchangeKind::kAllReduce, 4), transport, {bytes_of(whole), bytes_of(workspace)});
      CHECK(whole == std::vector<float>(elements, 1.0f));
    });
  }
}

TEST_CASE("a reduce-scatter and then an all-gather are an all-reduce") {
  constexpr std::size_t kElements = 10;
  on_ranks(3, [&](std::uint32_t rank, Transport& transport) {
    std::vector<float> whole(kElements), part(4), workspace(8);
    for (std::size_t i = 0; i < kElements; ++i) whole[i] = static_cast<float>(100 * rank + i);
    const std::vector<float> before = whole;
    run_exchange(of_all(ExchangeKind::kReduceScatter, 3), transport, {bytes_of(whole), bytes_of(part), bytes_of(workspace)});
    CHECK(whole == before);
    run_exchange(of_all(ExchangeKind::kAllGather, 3), transport, {bytes_of(part), bytes_of(whole)});
    for (std::size_t i = 0; i < kElements; ++i) CHECK(whole[i] == static_cast<float>(300 + 3 * i));  // 0 + 100 + 200, and 3 i
  });
}

TEST_CASE("an all-to-all sends each member its rows, as many as are counted, and back") {
  // Two members, rows of two floats, room for two visitors of each. Member 0 has three rows: one for itself, two for member 1;
  // member 1 has one, for member 0.
  const std::vector<std::vector<std::int32_t>> counts{{0, 1, 3, 1, 1, 3, 2}, {0, 1, 1, 2, 0, 3, 2}};
  const std::vector<std::vector<float>> rows{{1, 2, 3, 4, 5, 6}, {7, 8, 0, 0, 0, 0}};
  const std::vector<std::vector<float>> visitors{{1, 2, -1, -1, 7, 8, -1, -1}, {3, 4, 5, 6, -1, -1, -1, -1}};
  on_ranks(2, [&](std::uint32_t rank, Transport& transport) {
    std::vector<float> own = rows[rank], got(8, -1), back(6, 0);
    std::vector<std::int32_t> table = counts[rank];
    const auto words = std::as_writable_bytes(std::span(table));
    run_exchange(of_all(ExchangeKind::kAllToAll, 2), transport, {bytes_of(own), words, bytes_of(got)});
    CHECK(got == visitors[rank]);
    run_exchange(of_all(ExchangeKind::kAllToAllBack, 2), transport, {bytes_of(got), words, bytes_of(back)});
    CHECK(back == rows[rank]);
  });
}

TEST_CASE("counts that pass the room of an all-to-all are refused before anything is sent") {
  test::ThreadHub hub(2);
  for (const std::vector<std::int32_t>& bad : {std::vector<std::int32_t>{0, 1, 4, 0, 0, 3, 2}, {0, 2, 1, 0, 0, 3, 2},
                                              {0, 0, 0, 0, 3, 3, 2}, {0, 0, 0, 0, 0, 4, 2}, {0, 0, 0, 0, 0, 0, 0}}) {
    std::vector<float> own(6), got(8);
    std::vector<std::int32_t> table = bad;
    const std::vector<std::span<std::byte>> uses{bytes_of(own), std::as_writable_bytes(std::span(table)), bytes_of(got)};
    CHECK_THROWS_AS(run_exchange(of_all(ExchangeKind::kAllToAll, 2), hub.at(0), uses), EnvironmentError);
  }
}

TEST_CASE("a rank that ends, falls silent or stands still is named with its step") {
  const RankWatch::Time start{};
  const std::vector<RankHome> homes{{"here", 10}, {"here", 11}, {"there", 12}};
  const JobLimits limits{};
  const auto watch = [&] { return RankWatch(0, homes, limits, start); };
  RankWatch well = watch();
  well.heard(1, {.step = 3, .instructions = 7}, start + seconds(5));
  well.heard(2, {.step = 3, .instructions = 7}, start + seconds(5));
  CHECK_FALSE(well.loss(start + seconds(9)));

  RankWatch killed = well;
  killed.ended(1);
  REQUIRE(killed.loss(start + seconds(5)));
  CHECK(killed.loss(start + seconds(5))->what == "rank 1 (process 11 on here) ended in step 4");

  const auto silent = well.loss(start + seconds(16));
  REQUIRE(silent);
  CHECK(silent->what == "rank 1 (process 11 on here) has not been heard of for 11 s, since it was in step 4");

  RankWatch stuck = watch();
  for (int second = 1; second <= 25; ++second) {
    stuck.heard(0, {.step = 2, .instructions = 9, .waits_for = 2}, start + seconds(second));
    stuck.heard(1, {.step = 2, .instructions = 9, .waits_for = 2}, start + seconds(second));
    stuck.heard(2, {.step = 1, .instructions = 5}, start + seconds(second));
  }
  REQUIRE(stuck.loss(start + seconds(25)));
  CHECK(stuck.loss(start + seconds(25))->what ==
        "rank 2 (process 12 on there) stands still in step 2: no rank began an instruction for 20 s");
}

TEST_CASE("ranks that wait for one that saves do not stand still") {
  RankWatch watch(1, {{"here", 10}, {"here", 11}}, {}, {});
  for (int second = 1; second <= 60; ++second) {
    watch.heard(0, {.step = 2, .instructions = 9, .pauses = 1}, RankWatch::Time{} + seconds(second));
    watch.heard(1, {.step = 2, .instructions = 9, .waits_for = 0}, RankWatch::Time{} + seconds(second));
    CHECK_FALSE(watch.loss(RankWatch::Time{} + seconds(second)));
  }
}

TEST_CASE("a rank that left in the end is not missed") {
  RankWatch watch(0, {{"here", 10}, {"here", 11}}, {}, {});
  watch.heard(1, {.step = 3, .instructions = 7, .done = 1}, RankWatch::Time{});
  watch.ended(1);
  CHECK_FALSE(watch.loss(RankWatch::Time{} + seconds(100)));
}

}  // namespace plimsoll
