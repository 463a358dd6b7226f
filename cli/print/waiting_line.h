#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace plimsoll {

/// While it lives and standard error is a terminal, says there what the program is at and for how long, from the first
/// second on; the line goes away with it.
class WaitingLine {
 public:
  explicit WaitingLine(std::string what);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  /// How much is done, from 0 to 1; shown from then on.
  void tell(double share) { share_ = share; }

 private:
  void show_until_done();

  std::string what_;
  std::atomic<double> share_ = -1;  ///< negative: not known
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace plimsoll
