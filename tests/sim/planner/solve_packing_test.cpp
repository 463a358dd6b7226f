#include "sim/planner/packing/solve_packing.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "formats/plans/packing_csv.h"
#include "sim/planner/packing/coexistence.h"
#include "sim/planner/packing/verify_task_packing.h"

using namespace plimsoll;

namespace {

TaskBuffer buffer(std::string id, std::int64_t begin, std::int64_t end, std::int64_t size) {
  return {.id = std::move(id), .life = {begin, end}, .size = Bytes(size)};
}

/// Tries every offset of every buffer: right for tiny tasks, and knows nothing of the search.
class Exhaustive {
 public:
  Exhaustive(const PackingTask& task, std::int64_t capacity) : task_(task), capacity_(capacity) {}

  bool fits(std::size_t next = 0) {
    if (next == task_.size()) return true;
    for (std::int64_t offset = 0; offset + task_[next].size.count <= capacity_; ++offset) {
      if (task_[next].offset && task_[next].offset->count != offset) continue;
      if (offset % task_[next].alignment.count != 0) continue;
      offsets_.resize(next);
      offsets_.push_back(offset);
      if (last_is_free() && fits(next + 1)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool last_is_free() const {
    const std::size_t last = offsets_.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      const bool below = offsets_[i] + task_[i].size.count <= offsets_[last];
      const bool apart = below || offsets_[last] + task_[last].size.count <= offsets_[i];
      if (!apart && in_use_together(task_[i], task_[last])) return false;
    }
    return true;
  }

  static bool in_use_at(const TaskBuffer& one, std::int64_t at) {
    if (at < one.life.begin || at >= one.life.end) return false;
    return std::none_of(one.gaps.begin(), one.gaps.end(), [&](const TimeSpan& gap) { return gap.begin <= at && at < gap.end; });
  }

  static bool in_use_together(const TaskBuffer& a, const TaskBuffer& b) {
    for (std::int64_t at = a.life.begin; at < a.life.end; ++at) {
      if (in_use_at(a, at) && in_use_at(b, at)) return true;
    }
    return false;
  }

  const PackingTask& task_;
  std::int64_t capacity_;
  std::vector<std::int64_t> offsets_;
};

PackingTask random_task(std::mt19937& random) {
  const auto below = [&](int limit) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit)); };
  PackingTask task;
  const std::int64_t count = 2 + below(5);
  for (std::int64_t i = 0; i < count; ++i) {
    TaskBuffer one = buffer(std::to_string(i), below(6), 0, 1 + below(4));
    one.life.end = one.life.begin + 1 + below(5);
    if (below(4) == 0) one.alignment = Bytes(1 + below(3));
    if (below(6) == 0) one.offset = Bytes(one.alignment.count * below(3));
    if (below(4) == 0 && one.life.end - one.life.begin > 2) one.gaps = {{one.life.begin + 1, one.life.begin + 2}};
    task.push_back(one);
  }
  return task;
}

PackingTask read_instance(const std::string& name) {
  const std::string path = std::string(PLIMSOLL_ALLOCATION_DATA) + "/" + name;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const auto file = read_packing_csv(text.str(), path);
  REQUIRE(file);
  return file->task;
}

}  // namespace

TEST_CASE("fit_packing agrees with trying every offset, with alignments, fixed offsets and gaps") {
  std::mt19937 random(7);
  int fitted = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const PackingTask task = random_task(random);
    const std::int64_t capacity = 3 + static_cast<std::int64_t>(random() % 9);
    const PackingAnswer answer = fit_packing(task, Bytes(capacity), {.threads = 1});
    CAPTURE(trial, capacity);
    const bool expected = Exhaustive(task, capacity).fits();
    REQUIRE(answer.verdict == (expected ? PackingVerdict::kPacked : PackingVerdict::kImpossible));
    if (!expected) continue;
    ++fitted;
    REQUIRE(verify_task_packing(task, answer.packing).has_value());
    REQUIRE(answer.packing.height <= Bytes(capacity));
  }
  CHECK(fitted > 500);
  CHECK(fitted < 2500);
}

TEST_CASE("lowest_packing is the least capacity that fits and never below the load") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const PackingTask task = random_task(random);
    const PackingAnswer answer = lowest_packing(task, {.threads = 1});
    CAPTURE(trial);
    std::int64_t least = peak_load(task).count;
    while (least <= 40 && !Exhaustive(task, least).fits()) ++least;
    if (answer.verdict == PackingVerdict::kImpossible) {
      CHECK(least > 40);
    } else {
      CHECK(answer.packing.height.count == least);
    }
  }
}

TEST_CASE("A task whose load leaves no byte free is packed exactly") {
  // b2, b3 and b5 live together from 3 to 9 with 4 + 4 + 4 = 12 bytes, so the capacity of 12 has no slack there.
  const PackingTask task{buffer("b1", 0, 3, 4), buffer("b2", 3, 9, 4), buffer("b3", 0, 9, 4), buffer("b4", 9, 21, 4),
                         buffer("b5", 0, 21, 4)};
  CHECK(peak_load(task) == Bytes(12));
  const PackingAnswer answer = fit_packing(task, Bytes(12));
  REQUIRE(answer.verdict == PackingVerdict::kPacked);
  CHECK(verify_task_packing(task, answer.packing).has_value());
  CHECK(fit_packing(task, Bytes(11)).verdict == PackingVerdict::kImpossible);
}

TEST_CASE("Bytes of a buffer may be used by others in its gaps") {
  TaskBuffer holed = buffer("holed", 0, 10, 8);
  holed.gaps = {{4, 6}};
  const PackingTask task{holed, buffer("guest", 4, 6, 8)};
  CHECK(peak_load(task) == Bytes(8));
  CHECK(lowest_packing(task).packing.height == Bytes(8));
  CHECK(lowest_packing({buffer("holed", 0, 10, 8), buffer("guest", 4, 6, 8)}).packing.height == Bytes(16));
}

TEST_CASE("Buffers with fixed offsets that collide fit nowhere") {
  TaskBuffer a = buffer("a", 0, 4, 8), b = buffer("b", 2, 6, 8);
  a.offset = Bytes(0);
  b.offset = Bytes(4);
  CHECK(fit_packing({a, b}, Bytes(100)).verdict == PackingVerdict::kImpossible);
  CHECK(lowest_packing({a, b}).verdict == PackingVerdict::kImpossible);
}

TEST_CASE("buffers_at_peak names those that are in use when the load is largest") {
  const PackingTask task{buffer("early", 0, 3, 9), buffer("a", 2, 6, 5), buffer("b", 5, 8, 6), buffer("c", 5, 7, 4)};
  CHECK(peak_load(task) == Bytes(15));  // a + b + c at 5; early + a at 2 is 14
  CHECK(buffers_at_peak(task) == std::vector<std::uint32_t>{1, 2, 3});
}

TEST_CASE("verify_task_packing refuses shared bytes, misplaced buffers and a wrong height") {
  const PackingTask task{buffer("a", 0, 4, 8), buffer("b", 2, 6, 8)};
  CHECK(verify_task_packing(task, {{Bytes(0), Bytes(8)}, Bytes(16)}).has_value());
  CHECK(verify_task_packing(task, {{Bytes(0), Bytes(7)}, Bytes(15)}).error().what.find("share") != std::string::npos);
  CHECK_FALSE(verify_task_packing(task, {{Bytes(0), Bytes(8)}, Bytes(20)}).has_value());
  CHECK_FALSE(verify_task_packing(task, {{Bytes(-8), Bytes(0)}, Bytes(8)}).has_value());
}

TEST_CASE("The answer does not depend on the number of threads") {
  const PackingTask task = read_instance("C.1048576.csv");
  const PackingAnswer alone = fit_packing(task, Bytes(1048576), {.threads = 1});
  const PackingAnswer together = fit_packing(task, Bytes(1048576), {.threads = 3});
  REQUIRE(alone.verdict == PackingVerdict::kPacked);
  CHECK(alone.packing.offsets == together.packing.offsets);
}

TEST_CASE("Published instances on which every greedy order fails are packed within their capacity") {
  for (const char* name : {"A.1048576.csv", "B.1048576.csv", "C.1048576.csv"}) {
    const PackingTask task = read_instance(name);
    CAPTURE(name);
    CHECK(climb_packing(task, Bytes(1048576), 0, nullptr).height > Bytes(1048576));
    const PackingAnswer answer = fit_packing(task, Bytes(1048576));
    REQUIRE(answer.verdict == PackingVerdict::kPacked);
    CHECK(verify_task_packing(task, answer.packing).has_value());
  }
}

TEST_CASE("A training step's buffers are packed at their load") {
  const PackingTask task = read_instance("somas-resnet50.csv");
  const PackingAnswer answer = fit_packing(task, peak_load(task));
  REQUIRE(answer.verdict == PackingVerdict::kPacked);
  CHECK(answer.packing.height == Bytes(1515472556));
}

TEST_CASE("lowest_packing reaches the load though greedy orders do not, and proves a gap that it cannot close") {
  const PackingTask task = read_instance("B.1048576.csv");
  CHECK(lowest_packing(task).packing.height == peak_load(task));
  TaskBuffer a = buffer("a", 0, 1, 8), b = buffer("b", 0, 1, 8);
  a.alignment = b.alignment = Bytes(std::int64_t{1} << 60);  // one lies at 0, the other at 2^60 at the lowest; the load is 16
  const PackingLimits endless{.attempts = 1'000'000'000, .climbs = 1'000'000'000};
  CHECK(lowest_packing({a, b}, endless).packing.height == Bytes((std::int64_t{1} << 60) + 8));
}
