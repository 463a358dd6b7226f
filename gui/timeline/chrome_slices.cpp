#include "gui/timeline/chrome_slices.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace plimsoll::gui {
namespace {

using nlohmann::json;

/// The fields of one event that matter here.
struct EventFields {
  std::string phase;
  std::string name;
  std::string category;
  std::string process;
  std::string thread;
  std::string given_name;  ///< args.name, of metadata
  double ts = 0;           ///< microseconds
  double dur = 0;
};

/// Takes events one by one. An event is an object in the outer array, or in the array "traceEvents" of the outer object.
class SliceReader final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value), std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value), std::to_string(value)); }
  bool number_float(number_float_t value, const string_t& text) override { return number(value, text); }
  bool binary(binary_t&) override { return true; }

  bool string(string_t& value) override {
    if (depth_ == event_depth_) {
      if (key_ == "ph") fields_.phase = value;
      if (key_ == "name") fields_.name = value;
      if (key_ == "cat") fields_.category = value;
      if (key_ == "pid") fields_.process = value;
      if (key_ == "tid") fields_.thread = value;
    } else if (event_depth_ > 0 && depth_ == event_depth_ + 1 && in_args_ && key_ == "name") {
      fields_.given_name = value;
    }
    return true;
  }

  bool start_object(std::size_t) override {
    ++depth_;
    if (event_depth_ == 0 && events_depth_ > 0 && depth_ == events_depth_ + 1) {
      event_depth_ = depth_;
      fields_ = {};
    } else if (event_depth_ > 0 && depth_ == event_depth_ + 1) {
      in_args_ = key_ == "args";
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == event_depth_) {
      take();
      event_depth_ = 0;
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    const bool outer = depth_ == 1 || (depth_ == 2 && key_ == "traceEvents");
    if (events_depth_ == 0 && outer) events_depth_ = depth_;
    return true;
  }
  bool end_array() override {
    if (depth_ == events_depth_) events_depth_ = 0;
    --depth_;
    return true;
  }
  bool key(string_t& value) override {
    key_ = value;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error_at = position;
    return false;
  }

  ChromeSlices slices;
  std::size_t error_at = 0;

 private:
  bool number(double value, const std::string& text) {
    if (depth_ != event_depth_) return true;
    if (key_ == "ts") fields_.ts = value;
    if (key_ == "dur") fields_.dur = value;
    if (key_ == "pid") fields_.process = text;
    if (key_ == "tid") fields_.thread = text;
    return true;
  }

  std::uint32_t label() {
    const auto [entry, is_new] =
        known_.try_emplace(fields_.category + '\n' + fields_.name, static_cast<std::uint32_t>(slices.labels.size()));
    if (is_new) slices.labels.push_back({fields_.name, fields_.category});
    return entry->second;
  }

  static std::int64_t nanoseconds(double microseconds) { return std::llround(microseconds * 1e3); }

  void take() {
    const ChromeSlices::Thread thread{fields_.process, fields_.thread};
    if (fields_.phase == "X") {
      if (!std::isfinite(fields_.ts) || fields_.dur < 0) return;
      slices.threads[thread].push_back({nanoseconds(fields_.ts), nanoseconds(fields_.ts + fields_.dur), label()});
    } else if (fields_.phase == "B") {
      open_[thread].push_back({nanoseconds(fields_.ts), 0, label()});
    } else if (fields_.phase == "E" && !open_[thread].empty()) {
      ForeignSlice slice = open_[thread].back();
      open_[thread].pop_back();
      slice.end = nanoseconds(fields_.ts);
      if (slice.end >= slice.start) slices.threads[thread].push_back(slice);
    } else if (fields_.phase == "M" && fields_.name == "thread_name") {
      slices.thread_names[thread] = fields_.given_name;
    } else if (fields_.phase == "M" && fields_.name == "process_name") {
      slices.process_names[fields_.process] = fields_.given_name;
    }
  }

  std::string key_;
  EventFields fields_;
  std::size_t depth_ = 0;
  std::size_t events_depth_ = 0;  ///< of the array of events, while inside it
  std::size_t event_depth_ = 0;   ///< of the event, while inside it
  bool in_args_ = false;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::map<ChromeSlices::Thread, std::vector<ForeignSlice>> open_;
};

}  // namespace

Result<ChromeSlices> read_chrome_slices(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto refuse = [&](std::string what, std::string remedy) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = std::move(remedy)});
  };
  if (!file) return refuse("the file cannot be read", "check that it exists and may be read");
  SliceReader reader;
  if (!json::sax_parse(file, &reader)) {
    return refuse(fmt::format("the trace is damaged or cut off at byte {}", reader.error_at),
                  "copy it again from where it was made");
  }
  if (reader.slices.threads.empty()) {
    return refuse("the trace holds no slices with a begin and an end", "record operations (\"ph\":\"X\") and export again");
  }
  return std::move(reader.slices);
}

}  // namespace plimsoll::gui
