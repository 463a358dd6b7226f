#include "sim/planner/parallel_for.h"

#include <atomic>

#include "sim/planner/share_out.h"

namespace plimsoll {
namespace {

/// Threads as oneTBB orders them, said once more where the thread sanitizer sees it: what was before comes before every
/// index, and every index, also one that throws, before what follows. Indices are begun from the first to the last: oneTBB
/// hands out halves, and who puts what takes long first would find that half on one thread.
class OrderedWork final : public IndexedWork {
 public:
  explicit OrderedWork(const std::function<void(std::size_t)>& work) : work_(work) {
    begun_.store(true, std::memory_order_release);
  }
  ~OrderedWork() { (void)ended_.load(std::memory_order_acquire); }
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  void run(std::size_t) override {
    (void)begun_.load(std::memory_order_acquire);
    const Ending ending{ended_};
    work_(next_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  struct Ending {
    std::atomic<std::size_t>& ended;
    ~Ending() { ended.fetch_add(1, std::memory_order_release); }
  };

  const std::function<void(std::size_t)>& work_;
  std::atomic<bool> begun_ = false;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> ended_ = 0;
};

}  // namespace

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work, unsigned threads) {
  if (threads == 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  OrderedWork ordered(work);
  share_out(count, ordered, threads);
}

}  // namespace plimsoll
