#include "sim/inference/offload_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace plimsoll {
namespace {

tl::unexpected<Error> not_percentages(std::string_view text, std::string_view option) {
  return fail(
      {.kind = ErrorKind::kInput,
       .what = fmt::format("'{}' is not six percentages", text),
       .where = std::string(option),
       .remedy = "write weights on the GPU and the CPU, cache on both, activations on both, for example 20,80,0,100,0,100"});
}

bool is_share(const TierShares& shares) { return shares.gpu >= 0 && shares.cpu >= 0 && shares.gpu + shares.cpu <= 1 + 1e-9; }

std::string words_of(std::string_view what, const TierShares& shares) {
  std::string words = fmt::format("{} {:.0f} % on the GPU", what, 100 * shares.gpu);
  if (shares.cpu > 0) words += fmt::format(", {:.0f} % in host memory", 100 * shares.cpu);
  if (shares.ssd() > 0) words += fmt::format(", {:.0f} % on the SSD", 100 * shares.ssd());
  return words;
}

std::string code_words(const GroupCode& code) { return code.exists() ? fmt::format(" in {} bits", code.bits) : std::string(); }

}  // namespace

double TierShares::ssd() const {
  const double rest = 1 - gpu - cpu;
  return rest < 1e-9 ? 0 : rest;
}

Result<OffloadPolicy> with_percentages(OffloadPolicy policy, std::string_view text, std::string_view option) {
  std::array<double, 6> shares{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    double percent = -1;
    const auto [next, code] = std::from_chars(at, end, percent);
    const bool last = i + 1 == shares.size();
    if (code != std::errc{} || (last ? next != end : next == end || *next != ',')) return not_percentages(text, option);
    shares[i] = percent / 100;
    at = last ? next : next + 1;
  }
  policy.weights = {shares[0], shares[1]};
  policy.cache = {shares[2], shares[3]};
  policy.activations = {shares[4], shares[5]};
  if (!is_share(policy.weights) || !is_share(policy.cache) || !is_share(policy.activations)) return not_percentages(text, option);
  return policy;
}

OffloadPolicy run_by(ServingProgram program, OffloadPolicy policy) {
  policy.program = program;
  if (program != ServingProgram::kAccelerate) return policy;
  policy.pinned_weights = false;
  policy.overlap = false;
  return policy;
}

std::string to_text(const OffloadPolicy& policy) {
  std::string words = fmt::format("{} x {} sequences; {}; {}", policy.gpu_batch, policy.batches,
                                  words_of("weights" + code_words(policy.weight_code), policy.weights),
                                  words_of("cache" + code_words(policy.cache_code), policy.cache));
  if (policy.activations != TierShares{}) words += "; " + words_of("activations", policy.activations);
  if (policy.cpu_attention && policy.cache.gpu < 1) words += "; the CPU attends when decoding";
  if (policy.program != ServingProgram::kFlexGen) words += fmt::format("; as {} does it", to_text(policy.program));
  if (!policy.overlap) words += "; nothing overlaps";
  if (!policy.pinned_weights) words += "; weights in pageable memory";
  if (!policy.pinned_cache) words += "; cache in pageable memory";
  return words;
}

}  // namespace plimsoll
