#include "executor/kernels/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>

namespace plimsoll {

/// One run. Lives on the caller's stack; the pool's mutex guards what is not atomic.
struct WorkerPool::Job {
  std::int64_t task_count = 0;
  TaskCall call = nullptr;
  const void* function = nullptr;
  std::int64_t most_workers = 1;
  std::int64_t first = 0;   ///< the task handed out first
  std::int64_t stride = 1;  ///< from one task to the next, modulo their number; coprime to it
  std::int64_t joined = 1;  ///< workers that ever took part, the caller first: the next worker's number
  std::int64_t active = 0;  ///< pool threads inside
  std::atomic<std::int64_t> next = 0;
  std::exception_ptr failure;
  std::condition_variable all_left;

  [[nodiscard]] bool wants_workers() const {
    return joined < most_workers && next.load(std::memory_order_relaxed) < task_count;
  }

  /// Takes tasks until none is left.
  void work(std::int64_t worker, std::mutex& mutex) {
    try {
      for (std::int64_t task = next.fetch_add(1, std::memory_order_relaxed); task < task_count;
           task = next.fetch_add(1, std::memory_order_relaxed)) {
        call(function, (first + task * stride) % task_count, worker);
      }
    } catch (...) {
      next.store(task_count, std::memory_order_relaxed);
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }
};

WorkerPool::WorkerPool(std::int64_t workers, std::int64_t shuffle) : shuffle_(shuffle) {
  threads_.reserve(static_cast<std::size_t>(std::max<std::int64_t>(0, workers - 1)));
  try {
    for (std::int64_t i = 1; i < workers; ++i) threads_.emplace_back([this] { serve(); });
  } catch (...) {
    stop();
    throw;
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_or_stop_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run_tasks(std::int64_t task_count, TaskCall call, const void* function, std::int64_t most_workers) {
  if (task_count <= 0) return;
  Job job;
  job.task_count = task_count;
  job.call = call;
  job.function = function;
  if (shuffle_ != 0) {
    job.first = shuffle_ % task_count;
    job.stride = std::min(task_count - 1, shuffle_);
    while (std::gcd(job.stride, task_count) != 1) --job.stride;
  }
  job.most_workers = std::clamp<std::int64_t>(std::min(most_workers, task_count), 1, workers());
  if (job.most_workers == 1) {
    job.work(0, mutex_);
    if (job.failure) std::rethrow_exception(job.failure);
    return;
  }
  std::list<Job*>::iterator place;
  {
    const std::scoped_lock lock(mutex_);
    place = jobs_.insert(jobs_.end(), &job);
  }
  for (std::int64_t i = 1; i < job.most_workers; ++i) work_or_stop_.notify_one();
  job.work(0, mutex_);
  std::unique_lock lock(mutex_);
  jobs_.erase(place);
  job.all_left.wait(lock, [&] { return job.active == 0; });
  if (job.failure) std::rethrow_exception(job.failure);
}

WorkerPool::Job* WorkerPool::open_job() {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [](const Job* job) { return job->wants_workers(); });
  return found == jobs_.end() ? nullptr : *found;
}

void WorkerPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Job* job = nullptr;
    work_or_stop_.wait(lock, [&] { return stopping_ || (job = open_job()) != nullptr; });
    if (job == nullptr) return;
    const std::int64_t worker = job->joined++;
    ++job->active;
    lock.unlock();
    job->work(worker, mutex_);
    lock.lock();
    if (--job->active == 0) job->all_left.notify_one();
  }
}

}  // namespace plimsoll
