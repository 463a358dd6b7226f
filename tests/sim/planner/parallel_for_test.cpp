#include "sim/planner/parallel_for.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace plimsoll::test {
namespace {

/// Threads that wait for each other, but not for ever.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}

  bool all_came() {
    std::unique_lock lock(guard_);
    ++came_;
    changed_.notify_all();
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return came_ >= expected_; });
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  int expected_;
  int came_ = 0;
};

}  // namespace

TEST_CASE("parallel_for runs every index once and begins with the first ones") {
  // Two threads: when one says that it has begun with i, the other may have been given one index below i and not have said so.
  constexpr std::size_t kCount = 64;
  std::vector<int> begun(kCount, 0);
  long most_skipped = 0;
  std::mutex guard;
  const auto work = [&](std::size_t i) {
    const std::lock_guard lock(guard);
    ++begun[i];
    most_skipped = std::max(most_skipped, std::count(begun.begin(), begun.begin() + static_cast<long>(i), 0));
  };
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::fill(begun.begin(), begun.end(), 0);
    parallel_for(kCount, work, 2);
    CHECK(std::count(begun.begin(), begun.end(), 1) == 64);
  }
  CHECK(most_skipped <= 1);
}

TEST_CASE("parallel_for lends the thread that waits for the outermost loop to what its last index shares out") {
  if (std::thread::hardware_concurrency() < 2) {
    WARN("skipped: takes two cores");
    return;
  }
  const std::thread::id caller = std::this_thread::get_id();
  Meeting both_begun(2), both_inside(2);
  bool met = false;
  const auto inner = [&](std::size_t) {
    const bool came = both_inside.all_came();
    if (std::this_thread::get_id() == caller) met = came;
  };
  const auto outer = [&](std::size_t) {
    if (both_begun.all_came() && std::this_thread::get_id() != caller) parallel_for(2, inner, 2);
  };
  parallel_for(2, outer, 2);
  CHECK(met);
}

TEST_CASE("what loops within loops wrote is there after each of them, whoever helped") {
  for (int round = 0; round < 100; ++round) {
    std::vector<std::vector<int>> written(9, std::vector<int>(7));
    std::vector<int> sums(9);
    const auto outer = [&](std::size_t i) {
      parallel_for(7, [&](std::size_t j) { written[i][j] = static_cast<int>(7 * i + j) + round; }, 4);
      for (const int one : written[i]) sums[i] += one;
    };
    parallel_for(9, outer, 4);
    int all = 0;
    for (const int sum : sums) all += sum;
    REQUIRE(all == 62 * 63 / 2 + 63 * round);
  }
}

}  // namespace plimsoll::test
