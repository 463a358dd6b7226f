#include "sim/schedule/make_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest_names.h"
#include "core/schedule/verify_schedule.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

constexpr ChunkRule kLooped{.standard = 2, .least = 1, .most = 64};
constexpr ChunkRule kThereAndBack{.standard = 2, .least = 2, .most = 2};

constexpr ScheduleKind kKinds[] = {
    {"naive", "one micro-batch at a time", {}, make_naive},
    {"gpipe", "all forwards, then all backwards", {}, make_gpipe},
    {"pipedream", "1f1b without a flush, weights stashed", {}, make_pipedream},
    {"1f1b", "one forward, one backward (PipeDream-flush, DAPPLE)", {}, make_1f1b},
    {"2bw", "1f1b without a flush, two versions of the weights", {}, make_2bw},
    {"interleaved", "1f1b over several chunks a rank (PTD-P)", kLooped, make_interleaved},
    {"looped-bfs", "all forwards chunk by chunk, then all backwards", kLooped, make_looped_bfs},
    {"chimera", "two pipelines in opposite directions", {}, make_chimera},
    {"zb-h1", "zero bubble with 1f1b's memory", {}, make_zb_h1},
    {"zb-h2", "zero bubble with twice 1f1b's memory", {}, make_zb_h2},
    {"zb-v", "zero bubble on two stages a rank, there and back", kThereAndBack, make_zb_v},
    {"v-half", "there and back with half of 1f1b's activations", kThereAndBack, make_v_half},
    {"v-min", "there and back with a third of 1f1b's activations", kThereAndBack, make_v_min},
    {"dualpipe", "two pipelines in opposite directions, weight gradients apart", {}, make_dualpipe},
    {"dualpipe-v", "dualpipe on two stages a rank, there and back", kThereAndBack, make_dualpipe_v},
    {"hanayo",
     "waves: stages in a snake over the ranks",
     {.standard = 2, .least = 2, .most = 64, .step = 2},
     make_hanayo},
    {"bpipe", "1f1b, activations balanced between mirror ranks", {}, make_bpipe},
    {"auto", "the best found for --costs and --memory-cap", {}, search_schedule},
};

tl::unexpected<Error> refuse(std::string where, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = remedy});
}

Result<void> check_size(const ScheduleRequest& request) {
  if (request.ranks < 1 || request.ranks > kMaxPipelineRanks) {
    return refuse("--stages", fmt::format("a pipeline of {} ranks", request.ranks),
                  fmt::format("take 1 to {}", kMaxPipelineRanks));
  }
  const std::uint64_t most = kMaxPipelineOps / 3 / request.ranks / *request.chunks;
  if (request.micro_batches < 1 || request.micro_batches > most) {
    return refuse("--micro-batches", fmt::format("{} micro-batches", request.micro_batches),
                  fmt::format("take 1 to {}", most));
  }
  return {};
}

Result<std::uint32_t> chunks_of(const ScheduleKind& kind, const ScheduleRequest& request) {
  const ChunkRule& rule = kind.chunks;
  const std::uint32_t chunks = request.chunks.value_or(rule.standard);
  if (chunks >= rule.least && chunks <= rule.most && (chunks - rule.least) % rule.step == 0) return chunks;
  const std::string what = fmt::format("{} has no form with {} stages a rank", kind.name, chunks);
  if (rule.least == rule.most) return refuse("--chunks", what, fmt::format("take --chunks {}", rule.least));
  const std::uint32_t inside = std::clamp(chunks, rule.least, rule.most);
  const std::uint32_t below = inside - (inside - rule.least) % rule.step;
  const bool two = below != chunks && below < chunks && below + rule.step <= rule.most;
  return refuse(
      "--chunks", what,
      two ? fmt::format("take --chunks {} or {}", below, below + rule.step) : fmt::format("take --chunks {}", below));
}

}  // namespace

Result<const ScheduleKind*> find_schedule_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const ScheduleKind& kind : kKinds) {
    if (kind.name == name) return &kind;
    names.emplace_back(kind.name);
  }
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("no schedule is named '{}'", name),
               .where = {},
               .remedy = did_you_mean(name, names)});
}

std::span<const ScheduleKind> schedule_kinds() { return kKinds; }

Result<PipelineSchedule> make_schedule(const ScheduleRequest& request) {
  const auto kind = find_schedule_kind(request.name);
  if (!kind) return fail(kind.error());
  const auto chunks = chunks_of(**kind, request);
  if (!chunks) return fail(chunks.error());
  ScheduleRequest whole = request;
  whole.chunks = *chunks;
  if (const auto sized = check_size(whole); !sized) return fail(sized.error());
  if (const auto replicas = check_replicas(whole); !replicas) return fail(replicas.error());
  return (*kind)->make(whole);
}

}  // namespace plimsoll
