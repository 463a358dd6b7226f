#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "formats/traces/json_stream.h"

namespace plimsoll {

/// What an event of a Chrome trace is about, as Kineto's categories (of any year) say.
enum class EventCategory : std::uint8_t {
  kOther,
  kKernel,
  kCopy,
  kFill,
  kCall,
  kOperator,
  kAnnotation,
  kWait,
  kMemory,
  kFlow,      ///< arrows between events; what they join is known by correlation
  kDrawing,   ///< a copy of something else, or the profiler's own span
  kFunction,  ///< of Python
};

/// The numbers of one event; what it lacks keeps its default.
struct EventNumbers {
  char phase = 0;
  EventCategory category = EventCategory::kOther;
  bool has_start = false;
  std::string_view no_start;  ///< what stands where a number should: null, NaN, Infinity; empty where nothing does
  bool has_duration = false;
  bool numbered = true;    ///< process and thread are numbers; else they are words
  std::int64_t start = 0;  ///< nanoseconds
  std::int64_t duration = 0;
  std::int64_t process = 0;
  std::int64_t thread = 0;
  // From "args".
  std::uint64_t correlation = 0;
  std::uint64_t event_correlation = 0;
  std::uint64_t address = 0;
  std::uint64_t graph_node = 0;
  std::int64_t device = -1;
  std::int64_t context = 0;
  std::int64_t stream = -1;
  std::int64_t bytes = 0;
  std::int64_t allocated = -1;
  std::int64_t reserved = -1;
  std::int64_t device_type = -1;
  std::int64_t wait_stream = -1;
  std::int64_t wait_event = 0;
  std::int64_t registers = 0;
  std::int64_t shared_memory = 0;
  std::array<std::int64_t, 3> grid{};
  std::array<std::int64_t, 3> block{};
};

/// The fields of one event that anybody asks for. Reused from event to event, for the memory of its texts.
struct TraceFileEvent : EventNumbers {
  std::string name;
  std::string category_text;
  std::string process_word;
  std::string thread_word;
  std::string wait_kind;
  std::string label;  ///< of metadata: the name that it gives
};

/// Reads the event whose opening brace was just read; of an arrow no more than its phase.
void read_event(JsonStream& json, TraceFileEvent& event);

}  // namespace plimsoll
