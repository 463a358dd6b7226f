#include "sim/cost/cost_key.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "sim/cost/kernel_work.h"
#include "sim/cost/shape_fields.h"

namespace plimsoll {
namespace {

constexpr std::string_view kPlaceMark = " @ ";
constexpr std::array<std::pair<CostSubject, std::string_view>, 4> kSubjects{{{CostSubject::kKernel, "kernel"},
                                                                             {CostSubject::kTransfer, "transfer"},
                                                                             {CostSubject::kHostWork, "host_work"},
                                                                             {CostSubject::kIssue, "issue"}}};

std::string_view subject_text(CostSubject subject) { return kSubjects[static_cast<std::size_t>(subject)].second; }

std::string details(const CostKey& key) {
  switch (key.subject) {
    case CostSubject::kKernel:
      return to_text(key.kernel);
    case CostSubject::kTransfer:
      return fmt::format("{}", key.bytes.count);
    case CostSubject::kHostWork:
      return fmt::format("{} {}", to_text(key.task), key.bytes.count);
    case CostSubject::kIssue:
      return std::string(to_text(key.queue));
  }
  return {};
}

/// The text up to the next blank, which is taken off.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool parse_count(std::string_view text, Bytes& bytes) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes.count);
  return error == std::errc{} && end == text.data() + text.size() && bytes >= Bytes(0);
}

bool parse_task(std::string_view text, HostTask& task) {
  for (const auto known : {HostTask::kLoadTokens, HostTask::kReportLoss}) {
    if (to_text(known) != text) continue;
    task = known;
    return true;
  }
  return false;
}

bool parse_kernel(std::string_view text, Kernel& kernel) {
  const auto kind = parse_op_kind(take_word(text));
  const auto dtype = parse_dtype(take_word(text));
  const auto shape = parse_shape(text);
  if (!kind || !dtype || !shape) return false;
  kernel = {.kind = *kind, .dtype = *dtype, .shape = *shape};
  return true;
}

bool parse_details(std::string_view text, CostKey& key) {
  switch (key.subject) {
    case CostSubject::kKernel:
      return parse_kernel(text, key.kernel);
    case CostSubject::kTransfer:
      return parse_count(text, key.bytes);
    case CostSubject::kHostWork: {
      const auto task = take_word(text);
      return parse_task(task, key.task) && parse_count(text, key.bytes);
    }
    case CostSubject::kIssue: {
      const auto queue = parse_queue_kind(text);
      key.queue = queue.value_or(key.queue);
      return queue.has_value();
    }
  }
  return false;
}

bool parse_subject(std::string_view text, CostSubject& subject) {
  for (const auto& [known, name] : kSubjects) {
    if (name != text) continue;
    subject = known;
    return true;
  }
  return false;
}

}  // namespace

CostKey kernel_key(const Processor& processor, const Kernel& kernel) {
  return {.subject = CostSubject::kKernel, .place = processor.calibration_name, .kernel = kernel};
}

CostKey transfer_key(const Platform& platform, const Link& link, Bytes bytes) {
  return {.subject = CostSubject::kTransfer, .place = fmt::format("{} {}", platform.name, link.name), .bytes = bytes};
}

CostKey host_work_key(const Processor& processor, HostTask task, Bytes bytes) {
  return {.subject = CostSubject::kHostWork, .place = processor.calibration_name, .bytes = bytes, .task = task};
}

CostKey issue_key(const Platform& platform, QueueKind queue) {
  return {.subject = CostSubject::kIssue, .place = platform.name, .queue = queue};
}

std::string to_text(const CostKey& key) {
  return fmt::format("{} {}{}{}", subject_text(key.subject), details(key), kPlaceMark, key.place);
}

Result<CostKey> parse_cost_key(std::string_view text) {
  const auto mark = text.find(kPlaceMark);
  CostKey key;
  if (mark != std::string_view::npos) {
    key.place = text.substr(mark + kPlaceMark.size());
    std::string_view rest = text.substr(0, mark);
    if (parse_subject(take_word(rest), key.subject) && parse_details(rest, key)) return key;
  }
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is no cost key", text.substr(0, 120)),
               .where = {},
               .remedy = {}});
}

}  // namespace plimsoll
