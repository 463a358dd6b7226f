#include "session/probe/rehearsal.h"

#include <array>

#include "executor/data/counter_random.h"
#include "executor/data/token_source.h"
#include "formats/models/shape_words.h"
#include "session/warm_up.h"
#include "sim/cost/catalogue_cost_model.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kCorpusTokens = 1 << 16;
constexpr std::int64_t kVocabulary = 256;

/// Random tokens that stand in no file.
class DrawnTokens final : public TokenSource {
 public:
  [[nodiscard]] std::int64_t size() const override { return kCorpusTokens; }
  void read(std::int64_t offset, std::span<std::int32_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto place = static_cast<std::uint64_t>(offset) + i;
      out[i] = static_cast<std::int32_t>(to_range(random_at(1, place), kVocabulary));
    }
  }
};

RunRequest request_of(const ModelSpec& spec, const Platform& machine, std::int64_t micro_batch, std::int64_t steps) {
  RunRequest request;
  request.spec = spec;
  request.recipe = {.micro_batch = micro_batch, .accumulate = 2, .sequence = 128};
  request.machine = machine;
  request.costs = std::make_shared<CatalogueCostModel>();
  request.warm_up_steps = steps;
  return request;
}

}  // namespace

Result<std::vector<Sample>> rehearse_interpreter(const Platform& machine, std::int64_t steps) {
  const auto spec = parse_shape_words("gpt:layers=2,hidden=64,heads=2,vocab=256,positions=128");
  if (!spec) return fail(spec.error());
  std::vector<Sample> samples;
  const std::atomic<bool> stop{false};
  for (const std::int64_t micro_batch : std::array<std::int64_t, 2>{1, 8}) {
    auto warm = warm_up(request_of(*spec, machine, micro_batch, steps), DrawnTokens(), stop);
    if (!warm) return fail(warm.error());
    for (Sample& sample : warm->samples) {
      const bool wanted = sample.key.subject == CostSubject::kIssue || sample.key.subject == CostSubject::kHostWork;
      if (wanted) samples.push_back(std::move(sample));
    }
  }
  return samples;
}

}  // namespace plimsoll
