#include "formats/traces/trace_event.h"

#include <fmt/format.h>

#include "formats/traces/trace_numbers.h"

namespace plimsoll {
namespace {

struct CategoryName {
  std::string_view name;
  EventCategory category;
};

constexpr CategoryName kCategories[] = {
    {"kernel", EventCategory::kKernel},           {"cpu_op", EventCategory::kOperator},
    {"cuda_runtime", EventCategory::kCall},       {"ac2g", EventCategory::kFlow},
    {"python_function", EventCategory::kFunction}, {"cpu_instant_event", EventCategory::kMemory},
    {"gpu_memcpy", EventCategory::kCopy},         {"gpu_memset", EventCategory::kFill},
    {"cuda_driver", EventCategory::kCall},        {"user_annotation", EventCategory::kAnnotation},
    {"cuda_sync", EventCategory::kWait},          {"fwdbwd", EventCategory::kFlow},
    {"gpu_user_annotation", EventCategory::kDrawing}, {"Trace", EventCategory::kDrawing},
    {"overhead", EventCategory::kDrawing},        {"async_cpu_to_gpu", EventCategory::kFlow},
    {"forward_backward", EventCategory::kFlow},   {"async_gpu", EventCategory::kFlow},
    {"async_cpu", EventCategory::kFlow},
    {"Kernel", EventCategory::kKernel},           {"Memcpy", EventCategory::kCopy},
    {"Memset", EventCategory::kFill},             {"Runtime", EventCategory::kCall},
    {"Operator", EventCategory::kOperator},       {"Operation", EventCategory::kOperator},
    {"hip_runtime", EventCategory::kCall},        {"privateuse1_runtime", EventCategory::kCall},
};

EventCategory category_of(std::string_view name) {
  for (const CategoryName& known : kCategories) {
    if (known.name == name) return known.category;
  }
  return EventCategory::kOther;
}

/// Passes over a value that is none of the kinds that were expected.
void pass(JsonStream& json, JsonToken token) { json.skip_rest(token); }

/// A number, which some write as a text. False where it is neither, or absent in the way of NaN and null.
bool number_follows(JsonStream& json) {
  const JsonToken token = json.next();
  if (token == JsonToken::kNumber || token == JsonToken::kText) return true;
  pass(json, token);
  return false;
}

void take_time(JsonStream& json, std::int64_t& out, bool& has) {
  const auto time = microseconds(json.text());
  if (!time) json.refuse(fmt::format("the time '{}' is no number of microseconds", json.text().substr(0, 40)));
  out = *time;
  has = true;
}

void read_duration(JsonStream& json, TraceFileEvent& event) {
  if (number_follows(json)) take_time(json, event.duration, event.has_duration);
}

void read_start(JsonStream& json, TraceFileEvent& event) {
  const JsonToken token = json.next();
  if (token == JsonToken::kNumber || token == JsonToken::kText) return take_time(json, event.start, event.has_start);
  if (token == JsonToken::kNull) event.no_start = json.text();
  pass(json, token);
}

void read_whole(JsonStream& json, std::int64_t& out) {
  if (!number_follows(json)) return;
  if (const auto value = whole_number(json.text())) out = *value;
}

void read_bits(JsonStream& json, std::uint64_t& out) {
  if (!number_follows(json)) return;
  if (const auto value = bits_of(json.text())) out = *value;
}

void read_words(JsonStream& json, std::string& out) {
  const JsonToken token = json.next();
  if (token == JsonToken::kText || token == JsonToken::kNumber) {
    out.assign(json.text());
  } else {
    pass(json, token);
  }
}

void read_three(JsonStream& json, std::array<std::int64_t, 3>& out) {
  const JsonToken open = json.next();
  if (open != JsonToken::kArray) return pass(json, open);
  std::size_t i = 0;
  for (JsonToken token = json.next(); token != JsonToken::kArrayEnd; token = json.next(), ++i) {
    if (token == JsonToken::kNumber && i < out.size()) {
      out[i] = whole_number(json.text()).value_or(0);
    } else {
      pass(json, token);
    }
  }
}

void read_identity(JsonStream& json, std::int64_t& out, bool& numbered, std::string& in_words) {
  const JsonToken token = json.next();
  const bool word = token == JsonToken::kText || token == JsonToken::kNumber;
  const auto value = word ? whole_number(json.text()) : std::nullopt;
  if (value) out = *value;
  if (!value) numbered = false;
  if (word && !value) in_words.assign(json.text());
  if (!word) pass(json, token);
}

/// What most events have comes before what few have, and short keys are apart: most keys are nobody's, and are told by length.
void read_short_argument(JsonStream& json, std::string_view key, TraceFileEvent& event) {
  if (key == "device") return read_whole(json, event.device);
  if (key == "stream") return read_whole(json, event.stream);
  if (key == "context") return read_whole(json, event.context);
  if (key == "grid") return read_three(json, event.grid);
  if (key == "block") return read_three(json, event.block);
  if (key == "name") return read_words(json, event.label);
  if (key == "Addr") return read_bits(json, event.address);
  if (key == "bytes" || key == "Bytes") return read_whole(json, event.bytes);
  json.skip();
}

void read_long_argument(JsonStream& json, std::string_view key, TraceFileEvent& event) {
  if (key == "correlation") return read_bits(json, event.correlation);
  if (key == "shared memory") return read_whole(json, event.shared_memory);
  if (key == "registers per thread") return read_whole(json, event.registers);
  if (key == "graph node id") return read_bits(json, event.graph_node);
  if (key == "Device Id") return read_whole(json, event.device);
  if (key == "Device Type") return read_whole(json, event.device_type);
  if (key == "Total Reserved") return read_whole(json, event.reserved);
  if (key == "Total Allocated") return read_whole(json, event.allocated);
  if (key == "cuda_sync_kind") return read_words(json, event.wait_kind);
  if (key == "wait_on_stream") return read_whole(json, event.wait_stream);
  if (key == "wait_on_cuda_event_record_corr_id") return read_bits(json, event.event_correlation);
  if (key == "wait_on_cuda_event_id") return read_whole(json, event.wait_event);
  json.skip();
}

void read_argument(JsonStream& json, std::string_view key, TraceFileEvent& event) {
  constexpr std::size_t kLongestShort = 7;
  key.size() <= kLongestShort ? read_short_argument(json, key, event) : read_long_argument(json, key, event);
}

void read_arguments(JsonStream& json, TraceFileEvent& event) {
  const JsonToken open = json.next();
  if (open != JsonToken::kObject) return pass(json, open);
  for (std::string_view key; json.next_key(key);) read_argument(json, key, event);
}

/// Arrows are not looked at: what they join is known by correlation.
bool is_arrow(char phase) { return phase == 's' || phase == 't' || phase == 'f'; }

/// Everything that anybody asks of these stands outside their arguments, which are most of a file.
bool has_needless_arguments(EventCategory category) {
  switch (category) {
    case EventCategory::kOperator:
    case EventCategory::kAnnotation:
    case EventCategory::kFlow:
    case EventCategory::kDrawing:
    case EventCategory::kFunction: return true;
    default: return false;
  }
}

void clear(TraceFileEvent& event) {
  static_cast<EventNumbers&>(event) = {};
  for (std::string* text :
       {&event.name, &event.category_text, &event.process_word, &event.thread_word, &event.wait_kind, &event.label})
    text->clear();
}

void read_phase(JsonStream& json, TraceFileEvent& event) {
  const JsonToken token = json.next();
  if (token != JsonToken::kText) return pass(json, token);
  if (json.text().size() == 1) event.phase = json.text().front();
}

void read_category(JsonStream& json, TraceFileEvent& event) {
  read_words(json, event.category_text);
  event.category = category_of(event.category_text);
}

void read_field(JsonStream& json, std::string_view key, TraceFileEvent& event) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return read_phase(json, event);
      if (key == "ts") return read_start(json, event);
      break;
    case 3:
      if (key == "cat") return read_category(json, event);
      if (key == "dur") return read_duration(json, event);
      if (key == "pid") return read_identity(json, event.process, event.numbered, event.process_word);
      if (key == "tid") return read_identity(json, event.thread, event.numbered, event.thread_word);
      break;
    case 4:
      if (key == "name") return read_words(json, event.name);
      if (key == "args" && !has_needless_arguments(event.category)) return read_arguments(json, event);
      break;
    default: break;
  }
  json.skip();
}

}  // namespace

void read_event(JsonStream& json, TraceFileEvent& event) {
  clear(event);
  for (std::string_view key; json.next_key(key);) {
    read_field(json, key, event);
    if (is_arrow(event.phase)) return json.skip_rest(JsonToken::kObject);
  }
}

}  // namespace plimsoll
