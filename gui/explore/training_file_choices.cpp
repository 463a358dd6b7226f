#include "gui/explore/training_file_choices.h"

#include "formats/trainers/read_training_files.h"

namespace plimsoll::gui {
namespace {

/// The usual training on the machine of `before`.
Choices on_machine_of(const Choices& before) {
  Choices choices;
  choices.model = before.model;
  choices.gpu = before.gpu, choices.gpus = before.gpus;
  choices.ram_gib = before.ram_gib, choices.ssd_gb = before.ssd_gb, choices.pcie = before.pcie;
  choices.device_memory_gib = before.device_memory_gib;
  choices.os = before.os, choices.desktop = before.desktop;
  choices.network = before.network;
  choices.tokens = before.tokens;
  return choices;
}

/// Whether the Explore page asks the program for the option from a field of its own beside these choices.
bool has_field(const Choices& choices, const QString& option) {
  const bool open = !has_own_layers(choices), prefers = may_prefer(choices);
  if (option == "modules" || option == "offload") return open;
  if (option == "workload") return prefers;
  static const QStringList kAlways{"stack",  "precision", "optimizer", "recompute", "zero", "tp",   "pp",        "ep",
                                   "batch",  "accumulate", "lora",     "base-bits", "seq",  "gpus", "strategy"};
  return kAlways.contains(option);
}

QString quoted(const QString& value) { return value.contains(' ') ? '"' + value + '"' : value; }

/// Fills the option's field where there is one and it takes the value; adds the option to the further ones otherwise.
void take_option(Choices& choices, const QString& name, const QString& value) {
  const QString option = name.mid(2);
  if (option == "compile" && !has_own_layers(choices)) return void(choices.compile = true);
  const auto filled = has_field(choices, option) ? with_options(choices, {{option, value}}) : fail({});
  if (filled) return void(choices = *filled);
  choices.more += (choices.more.isEmpty() ? "" : " ") + name + (value.isEmpty() ? "" : " " + quoted(value));
}

QStringList notes_of(const TrainingFile& file, const QString& path) {
  QStringList notes{QStringLiteral("%1 (%2)").arg(path, QString::fromStdString(file.program))};
  for (const std::string& note : file.notes) notes << QString::fromStdString(note);
  QStringList unread;
  for (const std::string& key : file.unread) unread << QString::fromStdString(key);
  if (!unread.isEmpty()) notes << QStringLiteral("not read: ") + unread.join(QStringLiteral(", "));
  return notes;
}

}  // namespace

Result<Choices> with_training_file(const Choices& before, const QString& path) {
  const auto file = read_training_files({path.toStdString()});
  if (!file) return fail(file.error());
  Choices choices = on_machine_of(before);
  if (!file->model.empty()) choices.model = QString::fromStdString(file->model);
  for (const char* first : {"--stack", "--modules"}) {  // these decide which fields there are
    if (const auto said = file->options.find(first); said != file->options.end())
      take_option(choices, QString::fromLatin1(first), QString::fromStdString(said->second));
  }
  for (const auto& [name, value] : file->options) {
    if (name != "--stack" && name != "--modules") take_option(choices, QString::fromStdString(name), QString::fromStdString(value));
  }
  choices.file_notes = notes_of(*file, path);
  return choices;
}

}  // namespace plimsoll::gui
