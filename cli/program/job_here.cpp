#include "cli/program/job_here.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "executor/collectives/rendezvous.h"

namespace plimsoll {
namespace {

std::string word_of(const char* name) {
  const char* word = std::getenv(name);
  return word == nullptr ? std::string() : std::string(word);
}

std::optional<std::uint32_t> number_of(const std::string& word) {
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

bool is_started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (number_of(word_of(name)).value_or(1) > 1) return true;
  }
  return false;
}

/// Both words mean that a launcher other than MPI's started ranks; the address is needed then.
bool is_started_to_meet() {
  return !is_started_by_mpi() && !word_of("RANK").empty() && !word_of("WORLD_SIZE").empty() && word_of("WORLD_SIZE") != "1";
}

tl::unexpected<Error> bad_word(const char* name, const std::string& what) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} is '{}', {}", name, word_of(name), what),
               .where = "environment",
               .remedy = "a launcher says RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; without them start with mpirun -n 2"});
}

Result<Rendezvous> meeting_here() {
  const auto rank = number_of(word_of("RANK")), ranks = number_of(word_of("WORLD_SIZE"));
  if (!ranks || *ranks == 0 || *ranks > 100'000) return bad_word("WORLD_SIZE", "and should be how many ranks there are");
  if (!rank || *rank >= *ranks) return bad_word("RANK", fmt::format("and should be a number from 0 to {}", *ranks - 1));
  if (word_of("MASTER_ADDR").empty()) return bad_word("MASTER_ADDR", "and should name the computer of rank 0");
  const auto port = number_of(word_of("MASTER_PORT").empty() ? "29500" : word_of("MASTER_PORT"));
  // torchrun's own process keeps that port for its ranks' PyTorch.
  const std::uint32_t beside = word_of("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0;
  if (!port || *port == 0 || *port + beside > 65535) return bad_word("MASTER_PORT", "and should be a port's number");
  return Rendezvous{.address = word_of("MASTER_ADDR"),
                    .port = static_cast<std::uint16_t>(*port + beside),
                    .rank = *rank,
                    .ranks = *ranks};
}

}  // namespace

bool is_in_a_job() { return is_started_by_mpi() || is_started_to_meet(); }

Result<std::unique_ptr<Job>> join_this_job() {
  if (!is_started_to_meet()) return join_job();
  const auto place = meeting_here();
  if (!place) return fail(place.error());
  return join_job_at(*place);
}

std::string on_ranks(const std::string& command, std::uint32_t ranks) {
  if (!is_started_to_meet() && has_job_support()) return fmt::format("mpirun -n {} {}", ranks, command);
  if (!word_of("TORCHELASTIC_RUN_ID").empty() && word_of("LOCAL_WORLD_SIZE") == word_of("WORLD_SIZE"))
    return fmt::format("torchrun --no-python --nproc-per-node {} {}", ranks, command);
  return fmt::format("RANK=0..{} WORLD_SIZE={} {}", ranks - 1, ranks, command);
}

std::uint32_t own_device(Job& job) {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  const std::vector<std::string> hosts = job.tell_all(host);
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}) {
    if (const auto number = number_of(word_of(name))) return *number;
  }
  std::uint32_t before = 0;
  for (std::uint32_t other = 0; other < job.rank(); ++other) before += hosts[other] == hosts[job.rank()] ? 1 : 0;
  return before;
}

}  // namespace plimsoll
