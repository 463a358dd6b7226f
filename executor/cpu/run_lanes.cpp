#include "executor/cpu/run_lanes.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "executor/cpu/prompt_thread.h"
#include "executor/data/counter_random.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

void sleep_a_little(std::uint64_t seed, StepInstruction which) {
  const std::uint64_t place = (std::uint64_t{which.step} << 32) | which.instruction;
  std::this_thread::sleep_for(std::chrono::microseconds(to_range(random_at(seed, place), 201)));
}

/// Threads around one Dispatcher. `mutex_` guards everything below it; instructions run without it.
class Lanes {
 public:
  explicit Lanes(const LaneRun& run)
      : run_(run),
        dispatcher_(run.platform, run.body, run.steps),
        queues_(run.platform.queues.size()),
        grows_(run.growth.more != nullptr) {}

  LaneRecord run() {
    start_threads();
    follow();
    threads_.clear();  // joins
    if (failure_) std::rethrow_exception(failure_);
    std::sort(record_.events.begin(), record_.events.end(), [](const TraceEvent& a, const TraceEvent& b) {
      return std::pair(a.step, a.instruction) < std::pair(b.step, b.instruction);
    });
    record_.steps.resize(dispatcher_.ended_steps());
    return std::move(record_);
  }

 private:
  struct QueueWaiters {
    std::condition_variable wake;
    std::size_t waiting = 0;
  };

  void start_threads() {
    origin_ = Clock::now();
    try {
      for (std::size_t q = 0; q < queues_.size(); ++q) {
        for (std::int64_t lane = 0; lane < lanes_of(QueueId(q)); ++lane) add_lane(QueueId(q));
      }
    } catch (...) {  // no more threads to be had: those that run must leave before they are joined
      const std::scoped_lock lock(mutex_);
      fail_with(std::current_exception());
      throw;
    }
  }

  void add_lane(QueueId queue) {
    {
      const std::scoped_lock lock(mutex_);
      ++active_;
    }
    threads_.emplace_back([this, queue] { work(queue); });
  }

  /// No queue needs more threads than it has instructions in flight at most, nor any when it has none.
  [[nodiscard]] std::int64_t lanes_of(QueueId queue) const {
    const auto& all = run_.body.list.instructions;
    const auto mine = std::count_if(all.begin(), all.end(), [&](const Instruction& i) { return i.queue == queue; });
    return std::min<std::int64_t>(run_.platform.at(queue).width, mine * std::int64_t{run_.steps});
  }

  /// One lane: start, execute, end, until its queue is exhausted or the run failed.
  void work(QueueId queue) {
    if (run_.platform.at(queue).kind == QueueKind::kCommunication) become_prompt();
    std::unique_lock lock(mutex_);
    while (const auto next = wait_for_next(queue, lock)) {
      lock.unlock();
      try {
        const auto [event, outcome] = execute_timed(*next);
        lock.lock();
        finish(*next, event, outcome);
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        fail_with(std::current_exception());
      }
    }
    --active_;
    progress_.notify_all();
  }

  std::optional<StepInstruction> wait_for_next(QueueId queue, std::unique_lock<std::mutex>& lock) {
    QueueWaiters& waiters = queues_[queue.index];
    while (!failure_) {
      poll_stop();
      if (const auto next = dispatcher_.start(queue)) {
        wake_lanes();
        return next;
      }
      if (dispatcher_.exhausted(queue) && !grows_) break;
      ++waiters.waiting;
      waiters.wake.wait(lock);
      --waiters.waiting;
    }
    return std::nullopt;
  }

  struct Timed {
    TraceEvent event;
    Outcome outcome;
  };

  Timed execute_timed(StepInstruction which) {
    if (run_.jitter_seed != 0) sleep_a_little(run_.jitter_seed, which);
    const std::int64_t step = run_.first_step + which.step;
    const Nanoseconds start = now();
    const Outcome outcome = run_.execute(which.instruction, step);
    return {.event = {.step = static_cast<std::uint32_t>(step),
                      .instruction = which.instruction,
                      .start = start,
                      .end = now(),
                      .status = outcome.skipped ? EventStatus::kSkipped : EventStatus::kMeasured},
            .outcome = outcome};
  }

  void finish(StepInstruction which, const TraceEvent& event, const Outcome& outcome) {
    StepSummary& summary = summary_of(which.step);
    summary.end = std::max(summary.end, event.end);
    if (outcome.report) {
      summary.loss = outcome.report->loss;
      summary.gradient_norm = outcome.report->gradient_norm;
      summary.expert_loss = outcome.report->expert_loss;
      summary.expert_overflow = outcome.report->expert_overflow;
      summary.loss_scale = outcome.report->loss_scale;
      summary.skipped = outcome.report->skipped;
      summary.right = outcome.report->right;
    }
    if (event.step >= run_.first_traced_step) record_.events.push_back(event);
    const std::uint32_t before = dispatcher_.ended_steps();
    dispatcher_.end(which);
    if (dispatcher_.ended_steps() != before) progress_.notify_all();
    wake_lanes();
  }

  StepSummary& summary_of(std::uint32_t place) {
    while (record_.steps.size() <= place) {
      StepSummary summary;
      summary.step = static_cast<std::uint32_t>(run_.first_step + static_cast<std::int64_t>(record_.steps.size()));
      record_.steps.push_back(summary);
    }
    return record_.steps[place];
  }

  /// The calling thread: hands out summaries in order until every lane has left.
  void follow() {
    std::unique_lock lock(mutex_);
    std::uint32_t told = 0;
    while (true) {
      grow(told, lock);
      progress_.wait(lock, [&] { return active_ == 0 || (!failure_ && dispatcher_.ended_steps() > told); });
      if (failure_ || dispatcher_.ended_steps() == told) {
        if (active_ == 0) return;
        continue;
      }
      const StepSummary summary = close_step(told++);
      lock.unlock();
      try {
        if (run_.on_step) run_.on_step(summary);
        lock.lock();
        poll_stop();
      } catch (...) {
        lock.lock();
        fail_with(std::current_exception());
      }
    }
  }

  /// Asks for more while there is time: lanes run what is left meanwhile.
  void grow(std::uint32_t told, std::unique_lock<std::mutex>& lock) {
    while (grows_ && !failure_ && told + run_.growth.notice >= dispatcher_.steps()) {
      lock.unlock();
      std::int64_t more = 0;
      std::exception_ptr failure;
      try {
        more = run_.growth.more();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      grows_ = more > 0 && !stopped_;
      if (grows_) dispatcher_.extend(static_cast<std::uint32_t>(more));
      if (failure) fail_with(failure);
      for (QueueWaiters& waiters : queues_) waiters.wake.notify_all();
    }
  }

  /// A step starts when the one before it ended; with a wide queue it might have ended earlier still.
  StepSummary close_step(std::uint32_t place) {
    StepSummary& summary = summary_of(place);
    if (place > 0) summary.start = record_.steps[place - 1].end;
    summary.end = std::max(summary.end, summary.start);
    return summary;
  }

  void poll_stop() {
    if (stopped_ || run_.stop == nullptr || !run_.stop->load()) return;
    stopped_ = true;
    grows_ = false;
    dispatcher_.stop();
    wake_lanes();
  }

  void wake_lanes() {
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (queues_[q].waiting == 0) continue;
      if (failure_ || dispatcher_.exhausted(QueueId(q))) queues_[q].wake.notify_all();
      if (dispatcher_.ready(QueueId(q))) queues_[q].wake.notify_one();
    }
  }

  void fail_with(std::exception_ptr failure) {
    if (!failure_) failure_ = std::move(failure);
    wake_lanes();
    progress_.notify_all();
  }

  [[nodiscard]] Nanoseconds now() const {
    return Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - origin_).count());
  }

  const LaneRun& run_;
  Clock::time_point origin_;
  std::mutex mutex_;
  Dispatcher dispatcher_;
  std::vector<QueueWaiters> queues_;
  std::condition_variable progress_;
  std::size_t active_ = 0;
  bool grows_;
  bool stopped_ = false;
  std::exception_ptr failure_;
  LaneRecord record_;
  std::vector<std::jthread> threads_;  ///< last, so that they are joined before anything they use goes
};

}  // namespace

LaneRecord run_lanes(const LaneRun& run) { return Lanes(run).run(); }

}  // namespace plimsoll
