#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "profiler/cupti/activity_buffers.h"
#include "profiler/cupti/activity_capture.h"
#include "profiler/cupti/record_translator.h"

namespace plimsoll {

/// An ActivityCapture by CUPTI. Buffers come from a pool and go back when they were read, so that CUPTI never waits for one; a
/// thread collects what is complete twice a second and compares clocks. Calls that only ask are left out where CUPTI can do so.
class CuptiCapture : public ActivityCapture {
 public:
  static Result<std::unique_ptr<CuptiCapture>> start(const CaptureOptions& options);
  ~CuptiCapture() override;

  void enter(std::uint32_t step, std::uint32_t instruction) override;
  void leave() override;
  void read_memory() override;
  void flush() override;
  void stop() override;

 private:
  CuptiCapture(CuptiLibrary cupti, const std::string& spool, SpoolHeader header);

  Result<void> enable();
  void leave_out_questions();
  static void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
  static void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                        std::size_t valid);
  void read_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid);
  void compare_clocks();
  void collect_until_stopped();

  /// Whom CUPTI's callbacks mean, which carry no argument of ours.
  static std::atomic<CuptiCapture*> current_;

  CuptiLibrary cupti_;
  SpoolWriter spool_;
  RecordTranslator translator_;
  std::vector<CUpti_ActivityKind> enabled_;
  ActivityBuffers buffers_;
  std::mutex stop_mutex_;
  std::condition_variable stopping_;
  bool stopped_ = false;
  std::thread collector_;
};

}  // namespace plimsoll
