#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/expand.h"
#include "sim/planner/buffer_book.h"

namespace plimsoll {

/// A range of a buffer as a lowering names it.
struct Range {
  BufferId buffer;
  Bytes offset;
  Bytes bytes;
  std::uint32_t age = 0;
};

/// What of a body somebody wants.
enum class BodyDetail : std::uint8_t {
  kAll,
  kInstructions,  ///< and where stretches begin that may become calls of a template is not told
  kLives,         ///< of its buffers alone, for who only asks what memory they take: there are no instructions
};

/// Appends instructions to a flat body and keeps the book of buffers' lives. Knows nothing of transformers.
class BodyWriter {
 public:
  BodyWriter(Plan& plan, BufferBook& book, BodyDetail detail = BodyDetail::kAll);

  /// Makes room for so many instructions with about four operands each.
  void reserve(std::size_t instructions) {
    if (detail_ == BodyDetail::kLives) return;
    body_.list.instructions.reserve(instructions);
    body_.list.uses.reserve(4 * instructions);
    body_.micro_batches.reserve(instructions);
  }

  /// What follows may become one call of a template.
  void begin_segment(std::string_view name, std::uint32_t micro_batch, std::int64_t layer);
  void set_phase(Phase phase) { phase_ = phase; }
  /// What follows runs only when `flag` is set; nothing: always.
  void set_guard(std::optional<Range> flag) { guard_ = flag; }
  [[nodiscard]] const std::optional<Range>& guard() const { return guard_; }

  /// Each returns the new instruction's id.
  std::uint32_t launch(QueueId queue, const Kernel& kernel, const std::vector<std::pair<Range, Access>>& operands) {
    return launch(queue, detail_ == BodyDetail::kLives ? KernelId() : kernel_id(kernel), operands);
  }
  /// Of lives alone: the next instruction uses the buffer; then it stands.
  void will_use(BufferId buffer) { book_.touch(buffer, next_id_); }
  std::uint32_t pass() {
    if (guard_) will_use(guard_->buffer);
    return next_id_++;
  }
  std::uint32_t launch(QueueId queue, KernelId kernel, const std::vector<std::pair<Range, Access>>& operands);
  std::uint32_t copy(QueueId queue, InstructionKind kind, const Range& from, const Range& to);
  std::uint32_t host_work(QueueId queue, HostTask task, const std::vector<std::pair<Range, Access>>& operands);

  /// `exchange` becomes one of the plan's.
  std::uint32_t exchange(QueueId queue, const Exchange& exchange, const std::vector<std::pair<Range, Access>>& operands);

  /// The kernel becomes one of the plan's.
  KernelId kernel_id(const Kernel& kernel);

  /// The whole of a buffer.
  [[nodiscard]] Range whole(BufferId buffer) const { return {buffer, Bytes(0), plan_.at(buffer).bytes}; }
  /// The same of the version that the step before left, where the buffer keeps versions.
  [[nodiscard]] Range before(BufferId buffer) const { return {buffer, Bytes(0), plan_.at(buffer).bytes, age_before(buffer)}; }
  [[nodiscard]] std::uint32_t age_before(BufferId buffer) const {
    return plan_.at(buffer).persistent && plan_.at(buffer).slots > 1 ? 1 : 0;
  }
  [[nodiscard]] std::uint32_t next_id() const { return next_id_; }
  [[nodiscard]] BodyDetail detail() const { return detail_; }
  /// Of a body of lives alone: what crosses to or from a drive.
  [[nodiscard]] const std::vector<BufferId>& crossing() const { return crossing_; }
  [[nodiscard]] FlatBody& body() { return body_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }

 private:
  std::uint32_t append(Instruction instruction, std::span<const std::pair<Range, Access>> operands);
  void use(const Range& range, Access access);

  Plan& plan_;
  BufferBook& book_;
  BodyDetail detail_;
  std::uint32_t next_id_ = 0;
  FlatBody body_;
  std::vector<BufferId> crossing_;
  std::vector<Segment> segments_;
  std::map<Kernel, KernelId> kernels_;
  Phase phase_ = Phase::kForward;
  std::optional<Range> guard_;
  std::int64_t layer_ = -1;
  std::uint32_t micro_batch_ = 0;
};

}  // namespace plimsoll
