#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/trace/recording.h"
#include "formats/traces/json_stream.h"
#include "formats/traces/trace_event.h"

namespace plimsoll {

/// Turns the events of one file into a Recording.
class KinetoReader {
 public:
  /// With `everything`, what nothing is known of becomes ranges to draw: Python's functions, foreign categories, threads in words.
  explicit KinetoReader(ByteSource source, bool everything = false) : json_(std::move(source)), everything_(everything) {}

  Recording read();

 private:
  void read_object();
  void read_events();
  void read_devices();
  void read_device();
  void take();
  void take_stretch();
  void take_work(DeviceWorkKind kind);
  void take_call();
  void take_range(RangeKind kind);
  void take_wait();
  void take_memory();
  void take_metadata();
  void begin_range();
  void end_range();
  void finish();

  std::uint32_t thread();
  std::uint32_t worded_thread();
  [[nodiscard]] std::int64_t end() const { return event_.start + event_.duration; }

  JsonStream json_;
  bool everything_ = false;
  std::map<std::pair<std::string, std::string>, std::uint32_t> worded_threads_;
  std::map<std::uint32_t, std::string> process_names_;
  Recording recording_;
  TraceFileEvent event_;
  std::int64_t base_ = 0;  ///< baseTimeNanoseconds
  bool found_events_ = false;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> threads_;
  std::pair<std::int64_t, std::int64_t> last_thread_{INT64_MIN, 0};
  std::uint32_t last_index_ = 0;
  std::unordered_map<std::uint32_t, std::vector<MarkedRange>> open_;  ///< begun and not ended, by thread
  std::map<std::string, std::uint64_t> left_out_;                     ///< by category
};

}  // namespace plimsoll
