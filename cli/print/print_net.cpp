#include "cli/print/print_net.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/print/print_training.h"

namespace plimsoll {

double samples_per_second(const NetAnswer& answer) {
  return static_cast<double>(answer.batch * answer.gpus / answer.sharing) / answer.prediction.time.step;
}

double training_seconds(const NetAnswer& answer) { return answer.samples / samples_per_second(answer); }

std::string net_text(const NetAnswer& answer) {
  const StackPrediction& p = answer.prediction;
  std::string text = fmt::format("{} ({:.4g} M parameters, {}) on {}, {} samples: {}\n", answer.name,
                                 static_cast<double>(answer.parameters) / 1e6, to_text(answer.precision), answer.gpu,
                                 answer.batch, p.fits ? "FITS" : "DOES NOT FIT");
  text += fmt::format("  forward {:.4g} G multiply-adds a sample\n", answer.multiply_adds / 1e9);
  text += fmt::format("  step    {} ({} to {}), {:.4g} samples/s; forward {}, backward {}, optimizer {}\n",
                      to_text(from_seconds(p.time.step)), to_text(from_seconds(p.time.low)), to_text(from_seconds(p.time.high)),
                      samples_per_second(answer), to_text(from_seconds(p.time.forward)),
                      to_text(from_seconds(p.time.backward)), to_text(from_seconds(p.time.optimizer)));
  if (answer.gpus > 1) {
    text += fmt::format("  GPUs    {}, of which {} share a sample; waiting for each other {}\n", answer.gpus, answer.sharing,
                        to_text(from_seconds(p.time.exposed_communication + p.time.exposed_transfer)));
  }
  if (answer.samples > 0) {
    text += fmt::format("  training {:.4g} samples: {}\n", answer.samples, duration_text(training_seconds(answer)));
  }
  text += fmt::format("  gpu0    allocated {}, reserved {}, process {}; usable {}, margin {}{}\n", to_text(p.peak.allocated),
                      to_text(p.peak.reserved), to_text(p.peak.process), to_text(p.usable), p.margin < Bytes(0) ? "-" : "",
                      to_text(p.margin < Bytes(0) ? Bytes(-p.margin.count) : p.margin));
  text += fmt::format("  at the peak ({}): parameters {}, gradients {}, optimizer {}, activations {}\n", p.peak_at,
                      to_text(p.at_peak.parameters), to_text(p.at_peak.gradients), to_text(p.at_peak.optimizer),
                      to_text(p.at_peak.activations));
  for (const std::string& note : answer.notes) text += fmt::format("  note: {}\n", note);
  return text + "  simulated only: PyTorch's allocations by its rules, kernels by published efficiencies (data/calibration)\n";
}

std::string net_json(const NetAnswer& answer) {
  const StackPrediction& p = answer.prediction;
  const nlohmann::ordered_json json{
      {"format_version", 1},
      {"workload", answer.workload},
      {"verdict", p.fits ? "fits" : "does_not_fit"},
      {"model", {{"name", answer.name}, {"parameters", answer.parameters}, {"forward_multiply_adds", answer.multiply_adds}}},
      {"step_seconds", p.time.step},
      {"step_seconds_low", p.time.low},
      {"step_seconds_high", p.time.high},
      {"samples_per_second", samples_per_second(answer)},
      {"gpus", answer.gpus},
      {"gpus_a_sample", answer.sharing},
      {"exposed_communication_seconds", p.time.exposed_communication + p.time.exposed_transfer},
      {"training_seconds", answer.samples > 0 ? nlohmann::json(training_seconds(answer)) : nlohmann::json()},
      {"phases",
       {{"forward_seconds", p.time.forward}, {"backward_seconds", p.time.backward}, {"optimizer_seconds", p.time.optimizer}}},
      {"memory",
       {{{"space", "gpu0"},
         {"usable_bytes", p.usable.count},
         {"margin_bytes", p.margin.count},
         {"peak_allocated_bytes", p.peak.allocated.count},
         {"peak_reserved_bytes", p.peak.reserved.count},
         {"peak_process_bytes", p.peak.process.count},
         {"by_category",
          {{"parameters", p.at_peak.parameters.count},
           {"gradients", p.at_peak.gradients.count},
           {"optimizer", p.at_peak.optimizer.count},
           {"activations", p.at_peak.activations.count}}}}}},
      {"notes", answer.notes},
      {"simulated_only", true}};
  return json.dump(2) + "\n";
}

std::string net_csv(const NetAnswer& answer) {
  const StackPrediction& p = answer.prediction;
  const Bytes needs = p.usable - p.margin;  // what must be had: less than what the process comes to hold
  return fmt::format(
      "space,needs_bytes,usable_bytes,margin_bytes,parameters,gradients,optimizer,activations,allocated_bytes,reserved_bytes,"
      "process_bytes\n"
      "gpu0,{},{},{},{},{},{},{},{},{},{}\n",
      needs.count, p.usable.count, p.margin.count, p.at_peak.parameters.count, p.at_peak.gradients.count,
      p.at_peak.optimizer.count, p.at_peak.activations.count, p.peak.allocated.count, p.peak.reserved.count,
      p.peak.process.count);
}

}  // namespace plimsoll
