#include "formats/machines/unlisted_hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace plimsoll {
namespace {

/// The nearest boards have as many multiprocessors of one architecture where there are such (GB10: 48 of Blackwell,
/// Jetson AGX Orin: 16 of Ampere), else about the arithmetic that the maker states.
constexpr UnlistedHardware kApple{"an Apple chip: GPU and CPU share one memory, and its programs are Metal's",
                                  "RTX 4060"};
constexpr UnlistedHardware kArc{"an Intel GPU, whose programs (oneAPI) are not simulated", "RTX 3060 12GB"};
constexpr UnlistedHardware kJetson{"a Jetson module, whose GPU and CPU share one memory", "RTX 3050 4GB Mobile"};
constexpr UnlistedHardware kSpark{"a chip whose GPU and CPU share one memory", "RTX 5070"};
constexpr UnlistedHardware kOthers{"no GPU, and how its compiler lays a training out is not known", ""};

struct Marked {
  std::string_view word;
  const UnlistedHardware* hardware;
};

constexpr Marked kMarks[] = {{"apple", &kApple},     {"m1", &kApple},          {"m2", &kApple},    {"m3", &kApple},
                             {"m4", &kApple},        {"m5", &kApple},          {"arc", &kArc},     {"a380", &kArc},
                             {"a580", &kArc},        {"a750", &kArc},          {"a770", &kArc},    {"b570", &kArc},
                             {"b580", &kArc},        {"jetson", &kJetson},     {"orin", &kJetson}, {"xavier", &kJetson},
                             {"gb10", &kSpark},      {"spark", &kSpark},       {"tpu", &kOthers},  {"gaudi", &kOthers},
                             {"trainium", &kOthers}, {"inferentia", &kOthers}, {"npu", &kOthers}};

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name.substr(0, 200)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0)
      words.emplace_back();
    else
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return words;
}

}  // namespace

const UnlistedHardware* find_unlisted_hardware(std::string_view name) {
  for (const std::string& word : words_of(name)) {
    const auto mark = std::find_if(std::begin(kMarks), std::end(kMarks), [&](const Marked& one) {
      return word == one.word || (one.word == "tpu" && word.starts_with("tpu")) ||
             (one.word == "gaudi" && word.starts_with("gaudi"));
    });
    if (mark != std::end(kMarks)) return mark->hardware;
  }
  return nullptr;
}

Error refuse_unlisted(std::string_view name, const UnlistedHardware& hardware) {
  Error error{.kind = ErrorKind::kUnknownName,
              .what = fmt::format("'{}' is {}", name, hardware.what),
              .where = {},
              .remedy = {}};
  error.remedy = hardware.nearest.empty() ? "plimsoll machines lists the GPUs that are simulated"
                                          : fmt::format(
                                                "the nearest in the catalogue is the {0}: plimsoll machines --on "
                                                "\"{0}\" -o machine.json writes it down, "
                                                "to be changed to your memory and rates and named with --machine",
                                                hardware.nearest);
  return error;
}

}  // namespace plimsoll
