#include "cli/options/optimizer_form_flags.h"

namespace plimsoll {

void add_optimizer_form_flags(CLI::App& command, OptimizerFormFlags& flags, const std::string& group) {
  command
      .add_option("--projection", flags.projection,
                  "whose few rows or columns of a gradient Adam's moments are of (pytorch): galore:RANK, apollo:RANK, apollo-mini; :STEPS behind it "
                  "between new projectors (200)")
      ->group(group);
  command.add_option("--state-bits", flags.state_bits, "of Adam's moments: 4 (torchao; 8 is --optimizer adam8bit)")
      ->check(CLI::IsMember({4}))
      ->group(group);
  command
      .add_flag("--paged-states", flags.paged_states,
                "optimizer states in managed memory, which the driver evicts to host memory where the GPU's is full (bitsandbytes' paged_adamw)")
      ->group(group);
  command
      .add_flag("--wide-embedding-states", flags.wide_embedding,
                "of --optimizer adam8bit: an embedding's states in 32 bits, as transformers' Trainer registers them with bitsandbytes")
      ->group(group);
}

Result<OptimizerForm> read_optimizer_form(const OptimizerFormFlags& flags) {
  OptimizerForm form;
  if (!flags.projection.empty()) {
    const auto projection = parse_projection(flags.projection);
    if (!projection) return fail(projection.error());
    form = *projection;
  }
  form.bits = flags.state_bits;
  form.paged = flags.paged_states;
  form.wide_embedding = flags.wide_embedding;
  return form;
}

}  // namespace plimsoll
