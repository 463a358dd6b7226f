#include "cli/print/print_layouts.h"

#include <fmt/format.h>

#include "formats/text/csv.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

std::string layout_fields(const ParallelLayout& l) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", l.data_ranks, l.tensor_ranks, l.stages, l.context_ranks,
                     l.expert_ranks, l.zero, l.sequence_parallel, l.schedule, l.chunks, l.micro_batch, l.global_batch,
                     l.micro_batches(), to_text(l.recomputation));
}

}  // namespace

std::string layouts_csv_header() {
  return "dp,tp,pp,cp,ep,zero,sequence_parallel,schedule,chunks,micro_batch,global_batch,micro_batches,recompute,step_"
         "seconds,step_seconds_low,"
         "step_seconds_high,tokens_per_second,model_tflops_per_gpu,hardware_tflops_per_gpu,bubble_fraction,peak_bytes,"
         "usable_bytes,fits,limit,error\n";
}

std::string layout_csv_line(const ParallelAnswer& a) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},\n", layout_fields(a.layout), json_number(a.step_seconds),
                     json_number(a.step_low), json_number(a.step_high), json_number(a.tokens_per_second),
                     json_number(a.model_tflops_per_gpu()), json_number(a.hardware_tflops_per_gpu()),
                     json_number(a.bubble_fraction), a.peak().count, a.usable.count, a.fits(), csv_field(a.limit));
}

std::string refused_csv_line(const ParallelLayout& layout, const std::string& refusal) {
  return fmt::format("{},,,,,,,,,,,,{}\n", layout_fields(layout), csv_field(refusal));
}

std::string ranks_csv(const ParallelAnswer& answer) {
  std::string text =
      "rank,layers,peak_bytes,parameters,gradients,optimizer,activations,workspace,forward_seconds,backward_seconds,"
      "optimizer_seconds,bubble_seconds,wait_seconds,tensor_communication_seconds,gradient_communication_seconds,"
      "shard_communication_seconds,expert_communication_seconds\n";
  for (std::size_t rank = 0; rank < answer.ranks.size(); ++rank) {
    const RankAnswer& own = answer.ranks[rank];
    const RankMemory& m = own.memory;
    const RankSeconds& s = own.seconds;
    text += fmt::format("{},{},{},{},{},{},{},{}", rank, own.layers, m.total().count, m.parameters.count, m.gradients.count,
                        m.optimizer.count, m.activations.count, m.workspace.count);
    for (const double seconds : {s.forward, s.backward, s.optimizer, s.bubble, s.wait, s.tensor_sends, s.gradient_sends,
                                 s.shard_sends, s.expert_sends}) {
      text += "," + json_number(seconds);
    }
    text += "\n";
  }
  return text;
}

}  // namespace plimsoll
