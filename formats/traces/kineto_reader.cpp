#include "formats/traces/kineto_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "formats/traces/trace_numbers.h"

namespace plimsoll {
namespace {

std::uint32_t small(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::int32_t>::max()));
}

std::int32_t small_signed(std::int64_t value) { return static_cast<std::int32_t>(small(value)); }

/// "HtoD" in "Memcpy HtoD (Pageable -> Device)".
std::uint8_t copy_kind_in(std::string_view name) {
  for (std::uint8_t kind = 1; kind <= 10; ++kind) {
    if (name.find(copy_kind_text(kind)) != std::string_view::npos) return kind;
  }
  return 0;
}

std::uint8_t memory_kind_of(std::string_view word) {
  constexpr std::string_view kWords[] = {"Pageable", "Pinned", "Device", "Array", "Managed"};
  for (std::uint8_t kind = 0; kind < std::size(kWords); ++kind) {
    if (word.find(kWords[kind]) != std::string_view::npos) return kind;
  }
  return kUnknownMemoryKind;
}

WaitKind wait_kind_of(std::string_view text) {
  if (text == "Event Sync") return WaitKind::kEvent;
  if (text == "Stream Wait Event") return WaitKind::kStreamWaitsEvent;
  if (text == "Stream Sync") return WaitKind::kStream;
  if (text == "Context Sync") return WaitKind::kContext;
  return WaitKind::kUnknown;
}

[[noreturn]] void refuse_without_start(const JsonStream& json, const TraceFileEvent& event) {
  const std::string name = event.name.substr(0, 80);
  if (event.no_start.empty()) json.refuse(fmt::format("the event '{}' has no time (\"ts\")", name));
  json.refuse(fmt::format("the event '{}' has {} for a time (\"ts\")", name, event.no_start));
}

}  // namespace

Recording KinetoReader::read() {
  recording_.source = "Chrome trace";
  const JsonToken first = json_.next();
  if (first == JsonToken::kEnd) json_.refuse("an empty file");
  if (first == JsonToken::kObject) {
    read_object();
    if (!found_events_) json_.refuse("no \"traceEvents\": this is no Chrome trace");
  } else if (first == JsonToken::kArray) {
    read_events();
  } else {
    json_.refuse("no Chrome trace: it begins with neither { nor [");
  }
  if (!json_.at_end()) json_.refuse("something stands behind the trace's end");
  finish();
  return std::move(recording_);
}

void KinetoReader::read_object() {
  for (std::string_view key; json_.next_key(key);) {
    if (key == "traceEvents") {
      found_events_ = true;
      const JsonToken token = json_.next();
      if (token != JsonToken::kArray) json_.refuse("\"traceEvents\" is no array");
      read_events();
    } else if (key == "deviceProperties") {
      recording_.source = "Kineto trace";
      read_devices();
    } else if (key == "baseTimeNanoseconds") {
      const JsonToken token = json_.next();
      if (token == JsonToken::kNumber) base_ = whole_number(json_.text()).value_or(0);
      if (token != JsonToken::kNumber) json_.skip_rest(token);
    } else {
      json_.skip();
    }
  }
}

/// Until the array's end. A file that is nothing but an array may end without it.
void KinetoReader::read_events() {
  const bool alone = !found_events_;
  for (JsonToken token = json_.next(); token != JsonToken::kArrayEnd; token = json_.next()) {
    if (token == JsonToken::kEnd && alone) return recording_.lose("ends of the list of events");
    if (token == JsonToken::kEnd) json_.refuse("the file ends within the list of events");
    if (token != JsonToken::kObject) json_.refuse("an event that is no object");
    read_event(json_, event_);
    take();
  }
}

void KinetoReader::read_devices() {
  const JsonToken open = json_.next();
  if (open != JsonToken::kArray) return json_.skip_rest(open);
  for (JsonToken token = json_.next(); token != JsonToken::kArrayEnd; token = json_.next()) {
    if (token == JsonToken::kObject) {
      read_device();
    } else {
      json_.skip_rest(token);
    }
  }
}

void KinetoReader::read_device() {
  RecordedDevice device;
  for (std::string_view key; json_.next_key(key);) {
    const std::string field(key);
    const JsonToken token = json_.next();
    if (token == JsonToken::kText && field == "name") device.name = json_.text();
    if (token != JsonToken::kNumber) {
      json_.skip_rest(token);
      continue;
    }
    const std::int64_t value = whole_number(json_.text()).value_or(0);
    if (field == "id") device.device = small(value);
    if (field == "totalGlobalMem") device.memory = Bytes(std::max<std::int64_t>(0, value));
    if (field == "computeMajor") device.compute_major = small_signed(value);
    if (field == "computeMinor") device.compute_minor = small_signed(value);
    if (field == "numSms") device.multiprocessors = small_signed(value);
  }
  recording_.devices.push_back(std::move(device));
}

void KinetoReader::take() {
  switch (event_.phase) {
    case 'X': return take_stretch();
    case 'M': return take_metadata();
    case 'B': return begin_range();
    case 'E': return end_range();
    case 'i':
    case 'I':
      if (event_.category == EventCategory::kMemory) take_memory();
      return;
    case 's':
    case 't':
    case 'f': return;  // arrows
    default: ++left_out_[fmt::format("phase '{}'", event_.phase == 0 ? ' ' : event_.phase)]; return;
  }
}

void KinetoReader::take_stretch() {
  if (!event_.has_start) refuse_without_start(json_, event_);
  if (!event_.has_duration) recording_.lose("durations of events that are missing or no numbers");
  if (event_.duration < 0) {
    recording_.lose("ends of events that ended before they started");
    event_.duration = 0;
  }
  switch (event_.category) {
    case EventCategory::kKernel: return take_work(DeviceWorkKind::kKernel);
    case EventCategory::kCopy: return take_work(DeviceWorkKind::kCopy);
    case EventCategory::kFill: return take_work(DeviceWorkKind::kFill);
    case EventCategory::kCall: return take_call();
    case EventCategory::kOperator: return take_range(RangeKind::kOperator);
    case EventCategory::kAnnotation: return take_range(RangeKind::kAnnotation);
    case EventCategory::kWait: return take_wait();
    case EventCategory::kFlow:
    case EventCategory::kDrawing: return everything_ ? take_range(RangeKind::kDrawn) : void();
    case EventCategory::kMemory:
    case EventCategory::kFunction:
    case EventCategory::kOther: break;
  }
  if (everything_) return take_range(RangeKind::kDrawn);
  if (event_.category == EventCategory::kOther && event_.category_text.empty() && event_.numbered)
    return take_range(RangeKind::kAnnotation);
  ++left_out_[event_.category_text];
}

std::uint32_t KinetoReader::thread() {
  if (!event_.numbered) return worded_thread();
  const std::pair<std::int64_t, std::int64_t> key{event_.process, event_.thread};
  if (key == last_thread_) return last_index_;
  const auto [known, is_new] = threads_.try_emplace(key, static_cast<std::uint32_t>(recording_.threads.size()));
  if (is_new) recording_.threads.push_back({.process = small(event_.process), .thread = event_.thread, .name = {}});
  last_thread_ = key;
  last_index_ = known->second;
  return last_index_;
}

/// A thread that has words for its process or itself; it gets a number below 0.
std::uint32_t KinetoReader::worded_thread() {
  const std::string process = event_.process_word.empty() ? std::to_string(event_.process) : event_.process_word;
  const std::string own = event_.thread_word.empty() ? std::to_string(event_.thread) : event_.thread_word;
  const auto [known, is_new] = worded_threads_.try_emplace({process, own}, static_cast<std::uint32_t>(recording_.threads.size()));
  if (is_new) {
    const auto number = -static_cast<std::int64_t>(worded_threads_.size());
    recording_.threads.push_back({.process = small(event_.process), .thread = number, .name = own, .process_name = process});
  }
  return known->second;
}

void KinetoReader::take_work(DeviceWorkKind kind) {
  DeviceWork work{.start = Nanoseconds(event_.start),
                  .end = Nanoseconds(end()),
                  .correlation = event_.correlation,
                  .bytes = kind == DeviceWorkKind::kKernel ? 0 : std::max<std::int64_t>(0, event_.bytes),
                  .on = {.process = 0,
                         .device = small(event_.device >= 0 ? event_.device : event_.process),
                         .context = small(event_.context),
                         .stream = event_.stream >= 0 ? event_.stream : event_.thread},
                  .name = recording_.names.add(event_.name),
                  .graph_node = event_.graph_node,
                  .kind = kind};
  if (kind == DeviceWorkKind::kKernel) {
    LaunchShape shape{.registers = small_signed(event_.registers), .dynamic_shared = small_signed(event_.shared_memory)};
    for (std::size_t i = 0; i < 3; ++i) {
      shape.grid[i] = small_signed(event_.grid[i]);
      shape.block[i] = small_signed(event_.block[i]);
    }
    work.shape = static_cast<std::uint32_t>(recording_.shapes.size());
    recording_.shapes.push_back(shape);
  } else if (kind == DeviceWorkKind::kCopy) {
    const std::size_t arrow = event_.name.find("->");
    work.copy_kind = copy_kind_in(event_.name);
    if (arrow != std::string::npos) {
      work.source_kind = memory_kind_of(std::string_view(event_.name).substr(0, arrow));
      work.target_kind = memory_kind_of(std::string_view(event_.name).substr(arrow));
    }
  }
  recording_.work.push_back(work);
}

void KinetoReader::take_call() {
  recording_.calls.push_back({.start = Nanoseconds(event_.start),
                              .end = Nanoseconds(end()),
                              .correlation = event_.correlation,
                              .name = recording_.names.add(event_.name),
                              .thread = thread()});
}

void KinetoReader::take_range(RangeKind kind) {
  recording_.ranges.push_back({.start = Nanoseconds(event_.start),
                               .end = Nanoseconds(end()),
                               .name = recording_.names.add(event_.name),
                               .thread = thread(),
                               .kind = kind,
                               .category = kind == RangeKind::kDrawn ? recording_.names.add(event_.category_text) : NameId{}});
}

void KinetoReader::take_wait() {
  const auto unset = std::numeric_limits<std::uint32_t>::max();  // Kineto writes −1, in 32 or 64 bits, for what it does not know
  const bool knows = event_.event_correlation != 0 && event_.event_correlation != unset && event_.event_correlation != UINT64_MAX;
  recording_.waits.push_back(
      {.start = Nanoseconds(event_.start),
       .end = Nanoseconds(end()),
       .correlation = event_.correlation,
       .event_correlation = knows ? event_.event_correlation : 0,
       .on = {.process = 0, .device = small(event_.device), .context = small(event_.context), .stream = event_.stream},
       .event = event_.wait_event,
       .event_stream = event_.wait_stream == unset ? -1 : event_.wait_stream,
       .kind = wait_kind_of(event_.wait_kind.empty() ? event_.name : event_.wait_kind)});
}

void KinetoReader::take_memory() {
  constexpr std::int64_t kHost = 0;
  constexpr std::int64_t kCuda = 1;
  constexpr std::int64_t kHip = 6;
  if (event_.name != "[memory]") return;
  const bool host = event_.device_type == kHost;
  if (!host && event_.device_type != kCuda && event_.device_type != kHip) return;
  recording_.allocations.push_back({.time = Nanoseconds(event_.start),
                                    .address = event_.address,
                                    .bytes = event_.bytes,
                                    .allocated = event_.allocated,
                                    .reserved = host ? -1 : event_.reserved,
                                    .device = small(event_.device),
                                    .memory_kind = host ? kPageableMemoryKind : kDeviceMemoryKind,
                                    .of_framework = true});
}

void KinetoReader::take_metadata() {
  if (event_.name == "thread_name" && event_.numbered) recording_.threads[thread()].name = event_.label;
  if (event_.name == "process_name" && event_.numbered) process_names_[small(event_.process)] = event_.label;
}

void KinetoReader::begin_range() {
  if ((!event_.numbered && !everything_) || !event_.has_start) return;
  const std::uint32_t on = thread();
  open_[on].push_back({.start = Nanoseconds(event_.start),
                       .end = Nanoseconds(event_.start),
                       .name = recording_.names.add(event_.name),
                       .thread = on,
                       .kind = event_.category == EventCategory::kOperator ? RangeKind::kOperator : RangeKind::kAnnotation});
}

void KinetoReader::end_range() {
  if ((!event_.numbered && !everything_) || !event_.has_start) return;
  std::vector<MarkedRange>& open = open_[thread()];
  if (open.empty()) return recording_.lose("beginnings of ranges");
  open.back().end = std::max(open.back().start, Nanoseconds(event_.start));
  recording_.ranges.push_back(open.back());
  open.pop_back();
}

/// Times from the first event on; device work of the process whose calls submitted it; threads that nothing was on are forgotten.
void KinetoReader::finish() {
  for (const auto& [thread, open] : open_) recording_.lose("ends of ranges", open.size());
  for (const auto& [category, count] : left_out_) recording_.lose(fmt::format("events of the category '{}'", category), count);
  std::int64_t first = INT64_MAX;
  const auto see = [&](const auto& list) {
    for (const auto& item : list) first = std::min(first, item.start.count);
  };
  see(recording_.work);
  see(recording_.calls);
  see(recording_.ranges);
  for (const AllocationEvent& event : recording_.allocations) first = std::min(first, event.time.count);
  if (first == INT64_MAX) first = 0;
  const auto shift = [&](auto& list) {
    for (auto& item : list) {
      item.start -= Nanoseconds(first);
      item.end -= Nanoseconds(first);
    }
  };
  shift(recording_.work);
  shift(recording_.calls);
  shift(recording_.ranges);
  shift(recording_.waits);
  for (AllocationEvent& event : recording_.allocations) event.time -= Nanoseconds(first);
  recording_.epoch = base_ > INT64_MAX / 2 || base_ < 0 ? first : base_ + first;
  const std::uint32_t process = recording_.calls.empty() ? 0 : recording_.threads[recording_.calls.front().thread].process;
  for (DeviceWork& work : recording_.work) work.on.process = process;
  for (DeviceWait& wait : recording_.waits) wait.on.process = process;
  for (AllocationEvent& event : recording_.allocations) event.process = process;
  for (RecordedThread& thread : recording_.threads) {
    const auto named = process_names_.find(thread.process);
    if (named != process_names_.end() && thread.process_name.empty()) thread.process_name = named->second;
  }
  recording_.sort();
}

}  // namespace plimsoll
