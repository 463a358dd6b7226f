#include "core/platform/platform.h"

#include <array>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::array<std::pair<SpaceKind, std::string_view>, 3> kSpaceKinds{
    {{SpaceKind::kDevice, "device"}, {SpaceKind::kHost, "host"}, {SpaceKind::kSsd, "ssd"}}};
constexpr std::array<std::pair<ProcessorKind, std::string_view>, 2> kProcessorKinds{
    {{ProcessorKind::kGpu, "gpu"}, {ProcessorKind::kCpu, "cpu"}}};
constexpr std::array<std::pair<QueueKind, std::string_view>, 6> kQueueKinds{{{QueueKind::kCompute, "compute"},
                                                                             {QueueKind::kCopy, "copy"},
                                                                             {QueueKind::kStorage, "storage"},
                                                                             {QueueKind::kHostCompute, "host_compute"},
                                                                             {QueueKind::kHostWork, "host_work"},
                                                                             {QueueKind::kCommunication, "communication"}}};

template <typename Names, typename Kind>
std::string_view name_in(const Names& names, Kind kind) {
  for (const auto& [known, name] : names) {
    if (known == kind) return name;
  }
  return "?";
}

template <typename Kind, std::size_t N>
std::optional<Kind> kind_in(const std::array<std::pair<Kind, std::string_view>, N>& names, std::string_view text) {
  for (const auto& [kind, name] : names) {
    if (name == text) return kind;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SpaceId> Platform::space(SpaceKind kind) const {
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    if (spaces[i].kind == kind) return SpaceId(i);
  }
  return std::nullopt;
}

std::optional<QueueId> Platform::queue(std::string_view name) const {
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (queues[i].name == name) return QueueId(i);
  }
  return std::nullopt;
}

std::optional<LinkId> Platform::link(SpaceId from, SpaceId to) const {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].from == from && links[i].to == to) return LinkId(i);
  }
  return std::nullopt;
}

std::optional<LinkId> Platform::link_to_ranks() const {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].name == kRanksLink) return LinkId(i);
  }
  return std::nullopt;
}

std::string_view to_text(SpaceKind kind) { return name_in(kSpaceKinds, kind); }
std::string_view to_text(ProcessorKind kind) { return name_in(kProcessorKinds, kind); }
std::string_view to_text(QueueKind kind) { return name_in(kQueueKinds, kind); }
std::optional<SpaceKind> parse_space_kind(std::string_view text) { return kind_in(kSpaceKinds, text); }
std::optional<ProcessorKind> parse_processor_kind(std::string_view text) { return kind_in(kProcessorKinds, text); }
std::optional<QueueKind> parse_queue_kind(std::string_view text) { return kind_in(kQueueKinds, text); }

}  // namespace plimsoll
