#include "session/agree_on_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/differing_words.h"
#include "core/base/digest.h"
#include "sim/planner/ranks/lower_ranks.h"

namespace plimsoll {
namespace {

/// Fingerprint of the running program's file.
std::string own_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return digest_of(bytes);
}

/// A file's length with the fingerprint of its beginning and its end.
std::string look_of(const std::string& path) {
  constexpr std::size_t kLooked = std::size_t{1} << 20;
  if (path.empty()) return "none";
  if (!std::filesystem::exists(path)) return "missing";
  if (!std::filesystem::is_regular_file(path)) return "a-folder";
  const std::uintmax_t length = std::filesystem::file_size(path);
  std::ifstream file(path, std::ios::binary);
  std::string bytes(2 * kLooked, '\0');
  file.read(bytes.data(), kLooked);
  std::size_t read = static_cast<std::size_t>(file.gcount());
  if (length > kLooked) {
    file.seekg(static_cast<std::streamoff>(std::max<std::uintmax_t>(kLooked, length - kLooked)));
    file.read(bytes.data() + read, kLooked);
    read += static_cast<std::size_t>(file.gcount());
  }
  return fmt::format("{}-bytes digest={}", length, digest_of(std::string_view(bytes).substr(0, read)));
}

Result<void> agree(Job& job, const char* what, const std::string& mine) {
  const std::vector<std::string> all = job.tell_all(mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("rank {} has another {} than rank 0: {}; rank 0 has {}", rank, what,
                                     differing_words(all[rank], all[0]), differing_words(all[0], all[rank])),
                 .where = {},
                 .remedy = "start the same program with the same options on all ranks"});
  }
  return {};
}

}  // namespace

Result<void> agree_on_job(const RanksRequest& request, Job& job) {
  const TrainSchedule& schedule = request.run.schedule;
  const std::pair<const char*, std::string> sayings[] = {
      {"build", fmt::format("version={} program={}", request.run.meta.tool_version, own_program())},
      {"model", canonical_text(request.job.spec)},
      {"recipe", canonical_text(request.job.recipe)},
      {"share of the work",
       fmt::format("job='{}' bucket={} waits={:g}", describe(request.job), request.job.bucket.count, request.waits)},
      {"data file", look_of(request.run.data)},
      {"held-out data file", look_of(request.run.evaluation_data)},
      {"schedule of steps", fmt::format("steps={} warm-up={} eval-every={} save-every={}", schedule.end_step,
                                        request.run.warm_up_steps, schedule.evaluate_every, schedule.save_every)}};
  for (const auto& [what, mine] : sayings) {
    if (auto same = agree(job, what, mine); !same) return same;
  }
  return {};
}

Result<void> agree_on_plans(const std::vector<std::string>& digests, Job& job) {
  std::string all;
  for (const std::string& digest : digests) all += digest;
  return agree(job, "plan", digest_of(all));
}

}  // namespace plimsoll
