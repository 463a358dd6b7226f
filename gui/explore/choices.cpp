#include "gui/explore/choices.h"

#include <QProcess>

#include <functional>

#include "core/base/quantity.h"
#include "core/platform/operating_system.h"
#include "formats/machines/counted_gpus.h"

namespace plimsoll::gui {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

tl::unexpected<Error> bad(const QString& option, const QString& value, const char* form) {
  return fail({.kind = ErrorKind::kInput,
               .what = ("--" + option + " '" + value + "' is not " + form).toStdString(),
               .where = {},
               .remedy = {}});
}

Result<void> take_size(const QString& option, const QString& value, double unit, double& size) {
  const auto bytes = parse_bytes(value.toStdString());
  if (!bytes) return fail(bytes.error());
  if (bytes->count <= 0) return bad(option, value, "a size");
  size = static_cast<double>(bytes->count) / unit;
  return {};
}

Result<void> take_system(const QString& value, QString& os) {
  const auto known = parse_operating_system(value.toStdString());
  if (!known) return fail(known.error());
  os = *known == OperatingSystem::kLinux ? QString() : value;
  return {};
}

/// One of a few words.
Result<void> take_one_of(const QString& option, const QString& value, const QStringList& known, QString& taken) {
  if (!known.contains(value)) return bad(option, value, ("one of " + known.join(QStringLiteral(", "))).toStdString().c_str());
  taken = value;
  return {};
}

Result<void> take_base_bits(const QString& value, int& bits) {
  QString taken;
  if (const auto known = take_one_of(QStringLiteral("base-bits"), value, {"4", "8", "16"}, taken); !known) return known;
  bits = taken.toInt();
  return {};
}

template <typename Number>
Result<void> take_whole(const QString& option, const QString& value, Number& number) {
  bool whole = false;
  const qlonglong read = value.toLongLong(&whole);
  if (!whole || read <= 0 || read > 1'000'000'000) return bad(option, value, "a positive whole number");
  number = static_cast<Number>(read);
  return {};
}

/// RANK[:TARGETS], as fit reads it.
Result<void> take_adapter(const QString& value, Choices& choices) {
  choices.lora_targets = value.section(':', 1);
  return take_whole(QStringLiteral("lora"), value.section(':', 0, 0), choices.lora_rank);
}

Result<void> take(Choices& choices, const QString& option, const QString& value) {
  if (option == "model") return choices.model = value, Result<void>{};
  if (option == "on") return choices = with_gpus(choices, value), Result<void>{};
  if (option == "pcie") return choices.pcie = value, Result<void>{};
  if (option == "precision") return choices.precision = value, Result<void>{};
  if (option == "optimizer") return choices.optimizer = value, Result<void>{};
  if (option == "strategy") return choices.strategy = value, Result<void>{};
  if (option == "os") return take_system(value, choices.os);
  if (option == "ram") return take_size(option, value, kGib, choices.ram_gib);
  if (option == "ssd") return take_size(option, value, 1e9, choices.ssd_gb);
  if (option == "gpus") return take_whole(option, value, choices.gpus);
  if (option == "batch") return take_whole(option, value, choices.batch);
  if (option == "accumulate") return take_whole(option, value, choices.accumulate);
  if (option == "seq") return take_whole(option, value, choices.sequence);
  if (option == "lora") return take_adapter(value, choices);
  if (option == "base-bits") return take_base_bits(value, choices.base_bits);
  if (option == "stack") return choices.stack = value, Result<void>{};
  if (option == "modules") return choices.modules = value, Result<void>{};
  if (option == "workload") return choices.preferences = value, Result<void>{};
  if (option == "recompute" && value.startsWith(QLatin1String("every:"))) return choices.recompute = value, Result<void>{};
  if (option == "recompute") return take_one_of(option, value, {"none", "selective", "full", "every:K"}, choices.recompute);
  if (option == "zero") return take_one_of(option, value, {"0", "1", "2", "3"}, choices.zero);
  if (option == "offload") return choices.offload = value, Result<void>{};
  if (option == "network") return choices.network = value, Result<void>{};
  if (option == "tp") return take_whole(option, value, choices.tensor_ranks);
  if (option == "pp") return take_whole(option, value, choices.stages);
  if (option == "ep") return take_whole(option, value, choices.expert_ranks);
  if (option == "global-batch") return take_whole(option, value, choices.global_batch);
  const auto tokens = parse_count(value);
  if (option != "tokens" || !tokens) return bad(option, value, "a count such as 300B");
  choices.tokens = *tokens;
  return {};
}

}  // namespace

Choices with_gpus(Choices choices, const QString& named) {
  const auto [name, count] = count_and_name(named.toStdString());
  choices.gpu = QString::fromStdString(name);
  if (count > 1) choices.gpus = count;
  return choices;
}

Result<Choices> with_options(Choices choices, const QHash<QString, QString>& options) {
  for (auto option = options.begin(); option != options.end(); ++option) {
    if (const auto taken = take(choices, option.key(), option.value()); !taken) return fail(taken.error());
  }
  if (choices.expert_ranks > 1 && choices.tensor_ranks > 1) choices.sequence_parallel = true;  // Megatron-LM asks for it
  return choices;
}

bool asks_program(const Choices& choices) {
  return choices.stack != QLatin1String("plimsoll") || (choices.gpus > 1 && choices.gpu != QLatin1String("this"));
}

bool has_own_layers(const Choices& choices) {
  return choices.stack == QLatin1String("megatron") || choices.stack == QLatin1String("llm.c");
}

bool may_prefer(const Choices& choices) {
  const bool trl = choices.stack == QLatin1String("pytorch") || choices.stack == QLatin1String("deepspeed");
  return trl && (choices.modules.isEmpty() || choices.modules == QLatin1String("huggingface"));
}

Choices under_pytorch(Choices choices) {
  choices.stack = QStringLiteral("pytorch");
  return choices;
}

namespace {

/// Collects options that are not at their defaults.
class Options {
 public:
  explicit Options(QStringList first) : list_(std::move(first)) {}
  void text(const char* name, const QString& value) {
    if (!value.isEmpty()) list_ << QString::fromLatin1(name) << value;
  }
  void number(const char* name, double value, const char* unit = "") {
    list_ << QString::fromLatin1(name) << QString::number(value, 'g', 12) + QString::fromLatin1(unit);
  }
  void count(const char* name, std::int64_t value, std::int64_t usual) {
    if (value != usual) list_ << QString::fromLatin1(name) << QString::number(value);
  }
  void flag(const char* name, bool on) {
    if (on) list_ << QString::fromLatin1(name);
  }
  void all(const QStringList& more) { list_ << more; }
  [[nodiscard]] QStringList list() const { return list_; }

 private:
  QStringList list_;
};

/// What is around the GPUs; of several with a layout nothing but them is modelled.
void say_machine(const Choices& c, Options& options) {
  options.number("--ram", c.ram_gib, "GiB");
  if (c.ssd_gb > 0) options.number("--ssd", c.ssd_gb, "GB");
  options.text("--pcie", c.pcie);
  if (c.device_memory_gib > 0) options.number("--device-memory", c.device_memory_gib, "GiB");
  options.text("--os", c.os);
  options.flag("--desktop", c.desktop);
}

void say_layout(const Choices& c, Options& options) {
  options.text("--network", c.network);
  if (!c.layout.isEmpty()) return options.all(c.layout);
  options.count("--batch", c.batch, 1);
  options.count("--global-batch", c.global_batch, 0);
  options.count("--tp", c.tensor_ranks, 0);
  options.count("--pp", c.stages, 0);
  options.count("--ep", c.expert_ranks, 0);
  options.text("--zero", c.zero);
  options.text("--recompute", c.recompute);
}

void say_stack(const Choices& c, Options& options) {
  const bool open = !has_own_layers(c);  // else the fields are not there
  options.text("--stack", c.stack);
  if (open) options.text("--modules", c.modules);
  if (may_prefer(c)) options.text("--workload", c.preferences);
  const bool writes = may_prefer(c) && c.preferences == QLatin1String("grpo") && !c.more.contains(QLatin1String("--rollout"));
  if (writes) options.text("--rollout", QStringLiteral("vllm"));
  options.flag("--compile", open && c.compile);
  options.text("--recompute", c.recompute);
  options.text("--zero", c.zero);
  if (open) options.text("--offload", c.offload);
  options.count("--tp", c.tensor_ranks, 0);
  options.count("--pp", c.stages, 0);
  options.count("--ep", c.expert_ranks, 0);
  options.flag("--sequence-parallel", c.sequence_parallel && c.tensor_ranks > 1);
  options.count("--batch", c.batch, 1);
  options.count("--accumulate", c.accumulate, 1);
  if (c.lora_rank > 0) {
    options.text("--lora", QString::number(c.lora_rank) + (c.lora_targets.isEmpty() ? "" : ":" + c.lora_targets));
    options.count("--base-bits", c.base_bits, 0);
  }
  if (!c.exact && c.strategy != QLatin1String("auto")) options.text("--strategy", c.strategy);
}

}  // namespace

QStringList fit_options(const Choices& c) {
  const bool other = c.stack != QLatin1String("plimsoll");
  Options options({c.model.trimmed(), QStringLiteral("--on"), c.gpu});
  options.count("--gpus", c.gpus, 1);
  if (other) say_machine(c, options);
  options.count("--seq", c.sequence, 0);
  options.text("--precision", c.precision);
  options.text("--optimizer", c.optimizer);
  other ? say_stack(c, options) : say_layout(c, options);
  if (asks_program(c)) options.all(QProcess::splitCommand(c.more));
  return options.list();
}

std::optional<double> parse_count(QString text) {
  text = text.trimmed().remove(',').remove(' ');
  double factor = 1;
  if (!text.isEmpty()) {
    const QChar last = text.back().toUpper();
    factor = last == 'K' ? 1e3 : last == 'M' ? 1e6 : last == 'B' || last == 'G' ? 1e9 : last == 'T' ? 1e12 : 1;
    if (factor > 1) text.chop(1);
  }
  bool read = false;
  const double value = text.toDouble(&read);
  if (!read || !(value >= 0) || value * factor > 1e18) return std::nullopt;
  return value * factor;
}

}  // namespace plimsoll::gui
