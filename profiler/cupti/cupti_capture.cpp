#include "profiler/cupti/cupti_capture.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "profiler/cupti/calls_left_out.h"

namespace plimsoll {
namespace {

constexpr std::size_t kDeviceBufferBytes = std::size_t{8} << 20;
/// Beyond the calls of any CUPTI: that of CUDA 13 numbers 806 of the driver.
constexpr CUpti_CallbackId kMostCalls = 4096;
constexpr std::chrono::milliseconds kCollectEvery{500};

/// Kinds of records, and whether a capture without them is worth its while.
struct Wanted {
  CUpti_ActivityKind kind;
  bool needed;
};
constexpr Wanted kWanted[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true},
    {CUPTI_ACTIVITY_KIND_MEMCPY, true},
    {CUPTI_ACTIVITY_KIND_MEMSET, true},
    {CUPTI_ACTIVITY_KIND_RUNTIME, true},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, false},
    {CUPTI_ACTIVITY_KIND_DRIVER, false},
    {CUPTI_ACTIVITY_KIND_MEMORY2, false},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, false},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, false},
    {CUPTI_ACTIVITY_KIND_MARKER, false},
    {CUPTI_ACTIVITY_KIND_DEVICE, false},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, false},
};

std::int64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Switches off what a capture leaves out of a kind of calls that is enabled; returns how many functions of CUDA these are. Which
/// numbers they have is this CUPTI's to say, so that none is asked about a call that it does not know.
template <typename EnableCall>
std::uint64_t leave_out(const CuptiLibrary& cupti, CUpti_CallbackDomain domain, EnableCall enable_call) {
  std::uint64_t left_out = 0;
  for (CUpti_CallbackId call = 1; call < kMostCalls; ++call) {
    const char* name = nullptr;
    if (cupti.get_callback_name(domain, call, &name) != CUPTI_SUCCESS || name == nullptr) continue;
    if (is_left_out(name) && enable_call(call, 0) == CUPTI_SUCCESS) ++left_out;
  }
  return left_out;
}

std::string remedy_for(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "let users profile: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d/, then reboot; or run "
             "as root";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler (Nsight, Kineto) holds this process: end it, or leave one of the two out";
    default: return "ask plimsoll doctor what is missing";
  }
}

}  // namespace

std::atomic<CuptiCapture*> CuptiCapture::current_ = nullptr;

CuptiCapture::CuptiCapture(CuptiLibrary cupti, const std::string& spool, SpoolHeader header)
    : cupti_(std::move(cupti)), spool_(spool, header), translator_(cupti_, spool_) {}

Result<std::unique_ptr<CuptiCapture>> CuptiCapture::start(const CaptureOptions& options) {
  auto cupti = load_cupti(options.library);
  if (!cupti) return fail(cupti.error());
  const SpoolHeader header{
      .process = static_cast<std::uint32_t>(::getpid()), .started = now(CLOCK_REALTIME), .cupti_version = cupti->version};
  std::unique_ptr<CuptiCapture> capture(new CuptiCapture(std::move(*cupti), options.spool, header));
  if (!capture->spool_.ok()) {
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = "the spool cannot be created",
                 .where = options.spool,
                 .remedy = "check that its folder exists and may be written"});
  }
  current_ = capture.get();
  if (auto enabled = capture->enable(); !enabled) {
    current_ = nullptr;
    capture->spool_.abandon();
    ::unlink(options.spool.c_str());  // a spool is a promise that something was captured
    return fail(enabled.error());
  }
  capture->compare_clocks();
  capture->collector_ = std::thread([raw = capture.get()] { raw->collect_until_stopped(); });
  return capture;
}

CuptiCapture::~CuptiCapture() {
  {
    const std::lock_guard lock(stop_mutex_);
    stopped_ = true;
  }
  stopping_.notify_all();
  if (collector_.joinable()) collector_.join();
  CuptiCapture* self = this;
  current_.compare_exchange_strong(self, nullptr);
}

Result<void> CuptiCapture::enable() {
  std::size_t size = sizeof(std::size_t);
  std::size_t bytes = kDeviceBufferBytes;
  cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes);  // a refusal leaves CUPTI's own size
  // Else CUPTI zeroes each of our buffers within the call of the program that needed it.
  std::size_t flag_size = sizeof(std::uint8_t);
  std::uint8_t zeroed = 1;
  cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &flag_size, &zeroed);
  buffers_.make_ready();
  CUptiResult result = cupti_.register_callbacks(&CuptiCapture::buffer_requested, &CuptiCapture::buffer_completed);
  for (const Wanted& wanted : kWanted) {
    if (result != CUPTI_SUCCESS) break;
    const CUptiResult answer = cupti_.enable(wanted.kind);
    if (answer == CUPTI_SUCCESS) enabled_.push_back(wanted.kind);
    if (wanted.needed) result = answer;
  }
  if (result == CUPTI_SUCCESS) {
    leave_out_questions();
    return {};
  }
  for (const CUpti_ActivityKind kind : enabled_) cupti_.disable(kind);  // the program goes on, and should not pay for them
  return fail({.kind = ErrorKind::kEnvironment,
               .what = "CUPTI does not capture: " + cupti_.text(result),
               .where = cupti_.path,
               .remedy = remedy_for(result)});
}

/// After the kinds of calls were enabled, which sets all of their calls back.
void CuptiCapture::leave_out_questions() {
  std::uint64_t functions = 0;
  if (cupti_.enable_runtime_call != nullptr)
    functions += leave_out(cupti_, CUPTI_CB_DOMAIN_RUNTIME_API, cupti_.enable_runtime_call);
  const bool of_driver = std::ranges::find(enabled_, CUPTI_ACTIVITY_KIND_DRIVER) != enabled_.end();
  if (of_driver && cupti_.enable_driver_call != nullptr)
    functions += leave_out(cupti_, CUPTI_CB_DOMAIN_DRIVER_API, cupti_.enable_driver_call);
  // A query that was told "not yet" is a call, but has waited for nothing.
  if (cupti_.enable_all_syncs != nullptr) cupti_.enable_all_syncs(0);
  if (functions > 0) spool_.add(LeftOutRecord{functions});
}

void CuptiCapture::buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  CuptiCapture* const self = current_;
  *buffer = self == nullptr ? nullptr : self->buffers_.take();
  *size = *buffer == nullptr ? 0 : ActivityBuffers::kBytes;
  *most_records = 0;  // as many as fit
}

void CuptiCapture::buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                                    std::size_t valid) {
  if (CuptiCapture* const self = current_) {
    self->read_buffer(context, stream, buffer, valid);
    self->buffers_.give_back(buffer);
  } else {
    std::free(buffer);
  }
}

void CuptiCapture::read_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cupti_.get_next_record(buffer, valid, &record) == CUPTI_SUCCESS) translator_.translate(*record);
  std::size_t dropped = 0;
  if (cupti_.get_dropped(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0) spool_.add(LostRecord{dropped});
}

void CuptiCapture::enter(std::uint32_t step, std::uint32_t instruction) {
  cupti_.push_external(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, (std::uint64_t{step} << 32) | instruction);
}

void CuptiCapture::leave() {
  std::uint64_t last = 0;
  cupti_.pop_external(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

void CuptiCapture::read_memory() {
  if (cupti_.memory_info == nullptr || cupti_.current_device == nullptr) return;
  std::size_t free = 0, total = 0;
  CUdevice device = 0;
  std::uint64_t time = 0;
  const bool told = cupti_.memory_info(&free, &total) == CUDA_SUCCESS && cupti_.current_device(&device) == CUDA_SUCCESS &&
                    cupti_.get_timestamp(&time) == CUPTI_SUCCESS;
  if (told) spool_.add(ReadingRecord{.time = time, .free = free, .total = total, .device = static_cast<std::uint32_t>(device)});
}

/// The capture's clock between two readings of the others; the narrower the two, the better the comparison.
void CuptiCapture::compare_clocks() {
  ClockRecord best{.uncertainty = INT64_MAX};
  for (int attempt = 0; attempt < 5; ++attempt) {
    std::uint64_t capture = 0;
    const std::int64_t before = now(CLOCK_REALTIME);
    const std::int64_t steady = now(CLOCK_MONOTONIC);
    if (cupti_.get_timestamp(&capture) != CUPTI_SUCCESS) return;
    const std::int64_t after = now(CLOCK_REALTIME);
    if (after - before >= best.uncertainty) continue;
    best = {.capture = static_cast<std::int64_t>(capture),
            .steady = steady,
            .calendar = before + (after - before) / 2,
            .uncertainty = after - before};
  }
  spool_.add(best);
}

void CuptiCapture::collect_until_stopped() {
  std::unique_lock lock(stop_mutex_);
  while (!stopping_.wait_for(lock, kCollectEvery, [this] { return stopped_; })) {
    lock.unlock();
    flush();
    lock.lock();
  }
}

void CuptiCapture::flush() {
  cupti_.flush_all(0);
  buffers_.make_ready();
  compare_clocks();
  spool_.flush();
}

void CuptiCapture::stop() {
  {
    const std::lock_guard lock(stop_mutex_);
    if (stopped_) return;
    stopped_ = true;
  }
  stopping_.notify_all();
  if (collector_.joinable()) collector_.join();
  cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  for (const CUpti_ActivityKind kind : enabled_) cupti_.disable(kind);
  compare_clocks();
  spool_.close();
}

Result<std::unique_ptr<ActivityCapture>> start_capture(const CaptureOptions& options) {
  auto capture = CuptiCapture::start(options);
  if (!capture) return fail(capture.error());
  return std::unique_ptr<ActivityCapture>(std::move(*capture));
}

bool capture_is_built_in() { return true; }
std::string capture_build_text() { return "built with CUPTI " + std::to_string(CUPTI_API_VERSION); }

}  // namespace plimsoll
