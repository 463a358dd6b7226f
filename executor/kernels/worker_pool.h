#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace plimsoll {

/// The CPU workers of one executor. `run` splits a kernel into fixed tasks; who takes which task is left to chance,
/// so a task must write only what no other task of its run touches.
class WorkerPool {
 public:
  /// A pool of `workers` ≥ 1: the thread that calls `run` and `workers` − 1 threads that sleep while there is no work.
  /// `shuffle`, when not 0, hands tasks out in another order than 0, 1, 2 …: a test that no task depends on another.
  explicit WorkerPool(std::int64_t workers, std::int64_t shuffle = 0);
  /// Must not be called while a `run` is in progress.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// How many workers can take part in one run.
  [[nodiscard]] std::int64_t workers() const { return static_cast<std::int64_t>(threads_.size()) + 1; }

  /// Calls `function(task, worker)` for every task in [0, task_count) and returns when all have ended. `worker` is
  /// below min(workers(), `most_workers`) and names one thread for the whole run: scratch may be indexed by it. Several
  /// threads may call `run` at once; each works on its own tasks and therefore makes progress. The first exception of a
  /// task ends the run early and is thrown again here. A task must not call `run`.
  template <typename Function>
  void run(std::int64_t task_count, const Function& function, std::int64_t most_workers = INT64_MAX) {
    const auto call = [](const void* f, std::int64_t task, std::int64_t worker) {
      (*static_cast<const Function*>(f))(task, worker);
    };
    run_tasks(task_count, call, &function, most_workers);
  }

 private:
  struct Job;
  using TaskCall = void (*)(const void* function, std::int64_t task, std::int64_t worker);

  void run_tasks(std::int64_t task_count, TaskCall call, const void* function, std::int64_t most_workers);
  void serve();
  void stop();
  Job* open_job();

  std::mutex mutex_;
  std::condition_variable work_or_stop_;
  std::list<Job*> jobs_;
  bool stopping_ = false;
  const std::int64_t shuffle_;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll
