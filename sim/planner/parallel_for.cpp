#include "sim/planner/parallel_for.h"

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace plimsoll {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work, unsigned threads) {
  if (threads == 0) threads = std::thread::hardware_concurrency();
  std::atomic<std::size_t> next{0};
  const auto claim = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::future<void>> others;
  for (unsigned t = 1; t < threads && t < count; ++t) others.push_back(std::async(std::launch::async, claim));
  claim();
  for (std::future<void>& other : others) other.get();
}

}  // namespace plimsoll
