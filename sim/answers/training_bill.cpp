#include "sim/answers/training_bill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/graph/optimizer_state.h"
#include "sim/answers/machine_facts.h"
#include "sim/answers/training_power.h"

namespace plimsoll {
namespace {

constexpr double kHour = 3600;
constexpr const char* kCheckpoints = "checkpoints";

/// Seconds of one step beside the plan's own, and how long a step is with them.
struct StepWork {
  double reading = 0;    ///< of the drive that holds the data
  double preparing = 0;  ///< of all CPU cores together
  double drive = 0;      ///< reading, and what the plan has its drive do
  double cpu = 0;        ///< preparing, and what the plan has the CPU do

  [[nodiscard]] double step(double plan) const { return std::max({plan, drive, cpu}); }
};

double busy_of(const FitAnswer& answer, std::string_view queue) {
  for (const FitAnswer::Load& load : answer.loads) {
    if (load.queue == queue) return load.busy_fraction;
  }
  return 0;
}

double samples_of_step(const FitAnswer& answer) { return answer.samples_per_second * answer.step_seconds; }

Preparation preparation_of(const TrainingLength& length, const BillTerms& terms) {
  const bool text = length.content == DataContent::kText;
  return terms.preparation.value_or(text ? Preparation::kAhead : Preparation::kOnLine);
}

/// Seconds in which `cores` prepare one sample.
double preparing_seconds(const TrainingLength& length, double cores) {
  const ConstantTable& constants = training_constants();
  if (length.content == DataContent::kImage) return 1 / (constants.at("image.per_core") * cores);
  return length.stored_bytes / (constants.at("text.megabytes_per_core") * 1e6 * cores);
}

/// Every host reads and prepares its share of the samples.
StepWork step_work(const FitAnswer& answer, const TrainingLength& length, const MachineFacts& machine, Preparation preparation) {
  StepWork work;
  const bool on_line = preparation == Preparation::kOnLine;
  const double samples = samples_of_step(answer) / machine.hosts;
  work.reading = samples * (on_line ? length.stored_bytes : length.prepared_bytes) / machine.drive_read;
  work.preparing = on_line ? samples * preparing_seconds(length, machine.cores) : 0;
  work.drive = work.reading + std::max(busy_of(answer, "ssd.read"), busy_of(answer, "ssd.write")) * answer.step_seconds;
  work.cpu = work.preparing + busy_of(answer, "cpu") * answer.step_seconds;
  return work;
}

/// A training's clock: steps, then what comes before and between them.
struct Clock {
  double steps = 0;
  double step = 0;
  double ahead = 0;
  double every = 0;        ///< steps between two checkpoints; 0: they come by the hour
  double checkpoints = 0;  ///< how many
  double checkpoint = 0;   ///< seconds of one

  [[nodiscard]] double total() const { return ahead + steps * step + checkpoints * checkpoint; }
};

/// One at the end, and one for each interval that is over before.
double checkpoint_count(const Clock& clock, double hours) {
  const double intervals = clock.every > 0 ? clock.steps / clock.every : clock.steps * clock.step / (hours * kHour);
  return std::max(1.0, std::ceil(intervals));
}

Clock clock_for(double plan_step, const StepWork& work, const Clock& common, double hours) {
  Clock clock = common;
  clock.step = work.step(plan_step);
  clock.checkpoints = checkpoint_count(clock, hours);
  return clock;
}

void add_stages(TrainingAnswer& bill, const FitAnswer& answer, const StepWork& work, const Clock& clock) {
  const FitAnswer::Phases& phases = answer.phases;
  const double waiting = clock.step - answer.step_seconds;
  const bool for_drive = work.drive >= work.cpu;
  const double told = phases.forward_seconds + phases.backward_seconds + phases.optimizer_seconds +
                      phases.exposed_transfer_seconds + phases.exposed_communication_seconds;
  const auto add = [&](std::string name, double exposed, double worked, double once = 0) {
    bill.stages.push_back({std::move(name), clock.steps * exposed + once, clock.steps * worked + once});
  };
  const double update = std::max(phases.optimizer_seconds, busy_of(answer, "cpu") * answer.step_seconds);
  const double moving = std::max({busy_of(answer, "h2d"), busy_of(answer, "d2h"), busy_of(answer, "ssd.read"),
                                  busy_of(answer, "ssd.write")}) * answer.step_seconds;
  add("load", for_drive ? waiting : 0, work.reading);
  add("preprocess", for_drive ? 0 : waiting, work.preparing, clock.ahead);
  add("forward", phases.forward_seconds, phases.forward_seconds);
  add("backward", phases.backward_seconds, phases.backward_seconds);
  add("update", phases.optimizer_seconds, update);
  add("transfers", phases.exposed_transfer_seconds, std::max(moving, phases.exposed_transfer_seconds));
  add("communication", phases.exposed_communication_seconds, phases.exposed_communication_seconds);
  add("other waiting", std::max(0.0, answer.step_seconds - told), 0);
  add(kCheckpoints, 0, 0, clock.checkpoints * clock.checkpoint);
}

/// The resource that a step cannot do without for longest.
std::string limit_of(const FitAnswer& answer, const StepWork& work, const TrainingAnswer& bill) {
  if (work.step(answer.step_seconds) > answer.step_seconds) {
    return work.drive >= work.cpu ? "load: the drive that the data is read from" : "preprocess: CPU cores";
  }
  const auto longest = std::max_element(bill.stages.begin(), bill.stages.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (longest->name == kCheckpoints) return fmt::format("{}: the drive that they are written to", kCheckpoints);
  return fmt::format("{}: {}", longest->name, answer.bottleneck);
}

void add_money(TrainingAnswer& bill, const FitAnswer& answer, const BillTerms& terms) {
  if (terms.price_per_hour) bill.rent = *terms.price_per_hour * static_cast<double>(answer.gpus) * bill.seconds / kHour;
  if (terms.price_per_kwh && bill.energy_kwh) bill.electricity = *terms.price_per_kwh * *bill.energy_kwh;
  if (bill.rent || bill.electricity) bill.cost = bill.rent.value_or(0) + bill.electricity.value_or(0);
}

void add_wear(TrainingAnswer& bill, const FitAnswer& answer, const TrainingLength& length, const MachineFacts& machine,
              const Clock& clock, const BillTerms& terms, double checkpoint) {
  const double prepared = clock.ahead > 0 ? length.set_samples * length.prepared_bytes : 0;
  bill.drive_checkpoints = clock.checkpoints * checkpoint;
  bill.drive_written = static_cast<double>(answer.drive_written.count) * clock.steps + bill.drive_checkpoints + prepared;
  if (terms.drive_rated) bill.drive_rated = *terms.drive_rated;
  else if (machine.drive_bytes) bill.drive_rated = training_constants().at("ssd.tbw_per_tb") * *machine.drive_bytes;
}

/// What is said of one host, where there are several.
std::string of_hosts(double hosts) { return hosts > 1 ? fmt::format(" in each of {:g} hosts", hosts) : ""; }

std::string when_saved(const FitAnswer& answer, const BillTerms& terms) {
  if (answer.safety) {
    const std::int64_t every = answer.safety->every();
    return every == 1 ? "after every step" : fmt::format("every {} steps and at the end", every);
  }
  const double hours = terms.checkpoint_hours.value_or(training_constants().at("checkpoint.hours"));
  return fmt::format("every {:g} h and at the end{}", hours, terms.checkpoint_hours ? "" : " (assumed)");
}

void add_notes(TrainingAnswer& bill, const FitAnswer& answer, const TrainingLength& length, const BillTerms& terms,
               const MachineFacts& machine, double checkpoint) {
  const ConstantTable& constants = training_constants();
  bill.assumed = length.notes;
  if (preparation_of(length, terms) != Preparation::kNone) {
    const char* key = length.content == DataContent::kImage ? "image.per_core" : "text.megabytes_per_core";
    const auto& rate = constants.entry(key);
    bill.assumed.push_back(
        fmt::format("data prepared {} at {:g} {} and core, {:g} cores{} ({})",
                    preparation_of(length, terms) == Preparation::kAhead ? "ahead of time" : "on line", rate.value,
                    rate.unit, machine.cores, of_hosts(machine.hosts), rate.origin));
  }
  const std::string writers = machine.writing_hosts > 1 ? fmt::format(", by {:g} hosts at once", machine.writing_hosts) : "";
  bill.assumed.push_back(fmt::format("a checkpoint of {} {}{}, while the training waits",
                                     to_text(Bytes(std::llround(checkpoint))), when_saved(answer, terms), writers));
  bill.assumed.push_back(machine.drive_words + of_hosts(machine.hosts));
  if (bill.drive_rated && !terms.drive_rated) {
    bill.assumed.push_back(fmt::format("drives rated for {:g} TB a TB ({})", constants.at("ssd.tbw_per_tb"),
                                       constants.entry("ssd.tbw_per_tb").origin));
  }
  for (const PowerPart& part : bill.power)
    bill.assumed.push_back(fmt::format("{}: {:.1f} W ({})", part.name, part.watts, part.origin));
  if (!bill.energy_kwh) bill.assumed.emplace_back("no energy: the GPU's board power is not in the catalogue");
}

}  // namespace

Bytes checkpoint_bytes(const ModelSpec& spec, const Recipe& recipe) {
  Bytes bytes;
  const TensorKind weights = has_master_copy(recipe.precision) ? TensorKind::kMaster : TensorKind::kParameter;
  for (const ParameterGroup& group : lay_out_parameters(spec, recipe.adapter).groups) {
    if (group.frozen) continue;
    for (const TensorKind kind : {weights, TensorKind::kFirstMoment, TensorKind::kSecondMoment}) {
      bytes += bytes_of_state(recipe, group, kind);
    }
  }
  return bytes;
}

TrainingAnswer bill_training(const Question& question, const FitAnswer& answer, const TrainingLength& length,
                             const BillTerms& terms) {
  const MachineFacts machine = machine_facts(question, answer.gpus);
  const Preparation preparation = preparation_of(length, terms);
  const StepWork work = step_work(answer, length, machine, preparation);
  const Bytes state = answer.safety ? answer.safety->written_each : checkpoint_bytes(question.spec, question.recipe);
  const double checkpoint = static_cast<double>(state.count);
  const double hours = terms.checkpoint_hours.value_or(training_constants().at("checkpoint.hours"));
  Clock common;
  common.steps = std::ceil(length.samples / samples_of_step(answer) * (1 - 1e-12));  // a rate is not exact
  common.checkpoint = checkpoint / (machine.drive_write * machine.writing_hosts);
  if (answer.safety) {
    common.every = static_cast<double>(answer.safety->every());
    common.checkpoint = answer.safety->seconds_each.value_or(common.checkpoint);
  }
  if (preparation == Preparation::kAhead) common.ahead = length.set_samples * preparing_seconds(length, machine.cores * machine.hosts);
  const Clock clock = clock_for(answer.step_seconds, work, common, hours);
  TrainingAnswer bill{.tokens = length.tokens, .samples = length.samples, .epochs = length.epochs, .steps = clock.steps};
  bill.seconds = clock.total();
  bill.seconds_low = clock_for(answer.step_seconds_low, work, common, hours).total();
  bill.seconds_high = clock_for(answer.step_seconds_high, work, common, hours).total();
  add_stages(bill, answer, work, clock);
  bill.limit = limit_of(answer, work, bill);
  const double stepping = clock.steps / bill.seconds;
  bill.power = power_parts(
      machine, {.gpu = answer.loads.empty() ? answer.bottleneck_busy_fraction * answer.step_seconds * stepping
                                            : busy_of(answer, "compute") * answer.step_seconds * stepping,
                .cpu = work.cpu * stepping + clock.ahead / bill.seconds,
                .read = (work.reading + busy_of(answer, "ssd.read") * answer.step_seconds) * stepping,
                .write = busy_of(answer, "ssd.write") * answer.step_seconds * stepping});
  bill.energy_kwh = energy_kwh(machine, bill.power, bill.seconds);
  add_money(bill, answer, terms);
  add_wear(bill, answer, length, machine, clock, terms, checkpoint);
  add_notes(bill, answer, length, terms, machine, checkpoint);
  return bill;
}

}  // namespace plimsoll
