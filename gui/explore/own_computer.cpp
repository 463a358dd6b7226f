#include "gui/explore/own_computer.h"

#include <nlohmann/json.hpp>

#include "formats/machines/machine_json.h"
#include "formats/machines/machine_probe.h"
#include "gui/language/say_engine.h"
#include "sim/cost/calibrate.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/probe_statistics.h"

namespace plimsoll::gui {
namespace {

QStringList arguments_for(const Choices& choices) {
  QStringList arguments{"machines", "--this"};
  if (choices.device_memory_gib > 0) arguments << "--device-memory" << QStringLiteral("%1GiB").arg(choices.device_memory_gib);
  if (choices.ram_gib > 0) arguments << "--ram" << QStringLiteral("%1GiB").arg(choices.ram_gib);
  if (choices.ssd_gb > 0) arguments << "--ssd" << QStringLiteral("%1GB").arg(choices.ssd_gb);
  return arguments;
}

Result<std::shared_ptr<const CostModel>> probed_costs(const nlohmann::json& probe) {
  if (probe.is_null()) return nullptr;
  const auto read = read_probe(probe.dump(), "plimsoll machines --this");
  if (!read) return fail(read.error());
  auto statistics = statistics_of(*read);
  if (!statistics) return fail(statistics.error());
  return calibrate(std::move(*statistics), std::make_shared<CatalogueCostModel>()).model;
}

Result<OwnComputer> read_answer(const QByteArray& text) {
  const auto answer = nlohmann::json::parse(text.constData(), text.constData() + text.size(), nullptr, false);
  if (!answer.is_object() || !answer.contains("machine") || !answer.contains("notes")) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "not an answer of this version's plimsoll program",
                 .where = "plimsoll machines --this"});
  }
  auto platform = read_machine(answer["machine"].dump(), "plimsoll machines --this");
  if (!platform) return fail(platform.error());
  auto costs = probed_costs(answer.value("probe", nlohmann::json()));
  if (!costs) return fail(costs.error());
  OwnComputer own{.platform = std::move(*platform), .costs = std::move(*costs), .notes = {}};
  for (const auto& note : answer["notes"]) own.notes.push_back(note.is_string() ? note.get<std::string>() : note.dump());
  return own;
}

}  // namespace

OwnComputerQuestion::OwnComputerQuestion(QString engine, QObject* parent) : QObject(parent), call_(std::move(engine)) {
  connect(&call_, &EngineCall::finished, this, &OwnComputerQuestion::take_answer);
  connect(&call_, &EngineCall::refused, this, &OwnComputerQuestion::refused);
}

void OwnComputerQuestion::ask(const Choices& choices) {
  const QStringList arguments = arguments_for(choices);
  if (arguments == asked_ && (answer_ || call_.busy())) return;
  answer_.reset();
  asked_ = arguments;
  call_.start(arguments);
}

void OwnComputerQuestion::take_answer(int code, const QByteArray& output, const QByteArray& errors) {
  if (code != 0) return Q_EMIT refused(program_error(errors));
  auto own = read_answer(output);
  if (!own) return Q_EMIT refused(QString::fromStdString(own.error().text()));
  answer_ = std::move(*own);
  Q_EMIT answered();
}

}  // namespace plimsoll::gui
