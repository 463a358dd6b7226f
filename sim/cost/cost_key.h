#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

enum class CostSubject : std::uint8_t { kKernel, kTransfer, kHostWork, kIssue };

/// What makes two executions cost the same. The place is a processor's calibration name, a
/// platform's and a link's, or a platform's.
struct CostKey {
  CostSubject subject = CostSubject::kKernel;
  std::string place;
  Kernel kernel;                          ///< of a kernel
  Bytes bytes;                            ///< of a transfer or host work
  HostTask task = HostTask::kNone;        ///< of host work
  QueueKind queue = QueueKind::kCompute;  ///< of an issue: what an interpreter spends between two instructions

  auto operator<=>(const CostKey&) const = default;
};

CostKey kernel_key(const Processor& processor, const Kernel& kernel);
CostKey transfer_key(const Platform& platform, const Link& link, Bytes bytes);
CostKey host_work_key(const Processor& processor, HostTask task, Bytes bytes);
CostKey issue_key(const Platform& platform, QueueKind queue);

/// "kernel linear fp32 rows=64 inputs=8 outputs=8 @ gpu": one line, equal keys equal text, read back by parse_cost_key.
std::string to_text(const CostKey& key);
Result<CostKey> parse_cost_key(std::string_view text);

}  // namespace plimsoll
