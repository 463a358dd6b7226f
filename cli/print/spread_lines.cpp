#include "cli/print/spread_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/program/job_here.h"
#include "executor/collectives/job.h"

namespace plimsoll {
namespace {

/// What a rank says of its share: its lines, or why there are none, and what it takes for the first line of all.
std::string word_of(const Result<std::vector<std::string>>& mine, const Result<std::vector<std::string>>& first) {
  nlohmann::json word{{"lines", nlohmann::json::array()}, {"first", nlohmann::json::array()}, {"error", ""}};
  if (mine) word["lines"] = *mine;
  if (first) word["first"] = *first;
  if (!mine) word["error"] = mine.error().text();
  return word.dump();
}

Error wrong(std::size_t rank, const std::string& what, std::string remedy) {
  return {.kind = ErrorKind::kInput, .what = fmt::format("rank {}: {}", rank, what), .where = {}, .remedy = std::move(remedy)};
}

/// Line i comes from rank i modulo their number.
Result<std::vector<std::string>> in_order(const std::vector<std::string>& words) {
  std::vector<nlohmann::json> ranks;
  for (const std::string& word : words) ranks.push_back(nlohmann::json::parse(word));
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (const auto error = ranks[rank]["error"].get<std::string>(); !error.empty()) return fail(wrong(rank, error, {}));
    if (ranks[rank]["first"] != ranks[0]["first"])
      return fail(wrong(rank, "its first line is not that of rank 0", "give all ranks the same program, files and options"));
    count += ranks[rank]["lines"].size();
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i) lines.push_back(ranks[i % ranks.size()]["lines"][i / ranks.size()].get<std::string>());
  return lines;
}

}  // namespace

Result<std::vector<std::string>> spread_lines(const SharedLines& lines) {
  if (!is_in_a_job()) return lines({});
  auto job = join_this_job();
  if (!job) return fail(job.error());
  const std::size_t ranks = (*job)->ranks(), rank = (*job)->rank();
  const auto mine = lines({.part = rank, .parts = ranks});
  const auto first = lines({.part = 0, .parts = std::numeric_limits<std::size_t>::max(), .threads = 1});
  auto all = in_order((*job)->tell_all(word_of(mine, first)));
  (*job)->leave();
  return rank == 0 ? std::move(all) : std::vector<std::string>();
}

}  // namespace plimsoll
