#include "executor/kernels/worker_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>

namespace plimsoll {
namespace {

TEST_CASE("a run calls every task exactly once, whatever the workers and the order") {
  for (const std::int64_t workers : {1, 2, 3, 5}) {
    for (const std::int64_t shuffle : {0, 7}) {
      WorkerPool pool(workers, shuffle);
      for (const std::int64_t tasks : {0, 1, 2, 10, 1000}) {
        std::vector<std::atomic<int>> calls(static_cast<std::size_t>(tasks));
        pool.run(tasks, [&](std::int64_t task, std::int64_t) { ++calls[static_cast<std::size_t>(task)]; });
        for (const std::atomic<int>& count : calls) REQUIRE(count == 1);
      }
    }
  }
}

TEST_CASE("a shuffled pool hands tasks out in another order") {
  // First task 7 mod 10, stride 7 (coprime to 10): 7, 4, 1, 8, 5, 2, 9, 6, 3, 0.
  WorkerPool pool(1, 7);
  std::vector<std::int64_t> order;
  pool.run(10, [&](std::int64_t task, std::int64_t) { order.push_back(task); });
  CHECK(order == std::vector<std::int64_t>{7, 4, 1, 8, 5, 2, 9, 6, 3, 0});
}

TEST_CASE("worker numbers stay below the limit and no two threads of a run share one") {
  WorkerPool pool(4);
  for (const std::int64_t limit : {1, 2, 4, 9}) {
    std::vector<std::atomic<int>> inside(4);
    std::atomic<bool> shared = false, beyond = false;
    pool.run(
        500,
        [&](std::int64_t, std::int64_t worker) {
          if (worker >= std::min<std::int64_t>(limit, 4)) beyond = true;
          if (inside[static_cast<std::size_t>(worker)]++ != 0) shared = true;
          --inside[static_cast<std::size_t>(worker)];
        },
        limit);
    CHECK_FALSE(shared);
    CHECK_FALSE(beyond);
  }
}

TEST_CASE("runs of two threads both end, each with its own tasks") {
  WorkerPool pool(3);
  std::atomic<std::int64_t> sum_a = 0, sum_b = 0;
  const auto many_runs = [&](std::atomic<std::int64_t>& sum) {
    for (int round = 0; round < 200; ++round) {
      pool.run(17, [&](std::int64_t task, std::int64_t) { sum += task; });
    }
  };
  std::thread other([&] { many_runs(sum_b); });
  many_runs(sum_a);
  other.join();
  CHECK(sum_a == 200 * 136);  // 0 + 1 + … + 16 = 136
  CHECK(sum_b == 200 * 136);
}

TEST_CASE("a run makes progress while all pool threads are busy in another run") {
  WorkerPool pool(2);
  std::atomic<bool> release = false;
  std::thread blocking([&] {
    pool.run(2, [&](std::int64_t, std::int64_t) {
      while (!release) std::this_thread::yield();
    });
  });
  std::atomic<int> done = 0;
  pool.run(8, [&](std::int64_t, std::int64_t) { ++done; });
  CHECK(done == 8);
  release = true;
  blocking.join();
}

TEST_CASE("the exception of a task reaches the caller and the pool works on") {
  for (const std::int64_t workers : {1, 3}) {
    WorkerPool pool(workers);
    const auto fails = [](std::int64_t task, std::int64_t) {
      if (task == 5) throw std::runtime_error("task 5");
    };
    CHECK_THROWS_WITH(pool.run(100, fails), "task 5");
    std::atomic<int> done = 0;
    pool.run(9, [&](std::int64_t, std::int64_t) { ++done; });
    CHECK(done == 9);
  }
}

}  // namespace
}  // namespace plimsoll
