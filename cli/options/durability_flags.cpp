#include "cli/options/durability_flags.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

tl::unexpected<Error> bad(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

}  // namespace

void add_durability_flags(CLI::App& command, DurabilityFlags& flags) {
  command.add_option("--durability", flags.durability,
                     "what outlives a kill or a loss of power: none, checkpoint (of every --save-every steps, 100 unless said) or "
                     "step (at most the running one is lost); none unless --save-every is given");
  command.add_option("--save-every", flags.save_every, "steps between checkpoints (one is always written at the end)");
}

Result<Safety> read_safety(const DurabilityFlags& flags) {
  if (flags.save_every < 0) return bad("--save-every cannot be negative");
  Safety safety{.durability = flags.save_every > 0 ? Durability::kCheckpoint : Durability::kNone, .every = flags.save_every};
  if (flags.durability.empty()) return safety;
  const auto durability = parse_durability(flags.durability);
  if (!durability) return fail(durability.error());
  if (*durability == Durability::kNone && safety.every > 0) {
    return bad("--durability none writes no checkpoints, so --save-every does not go with it", "leave one out");
  }
  safety.durability = *durability;
  if (*durability == Durability::kCheckpoint && safety.every == 0) safety.every = kUsualSaveEvery;
  return safety;
}

}  // namespace plimsoll
