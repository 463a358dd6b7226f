#include "gui/explore/own_computer.h"

#include <QProcess>

#include <nlohmann/json.hpp>

#include "formats/machines/machine_json.h"
#include "formats/machines/machine_probe.h"
#include "gui/language/say.h"
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
    return fail({.kind = ErrorKind::kInput, .what = "not an answer of this version's plimsoll program", .where = "plimsoll machines --this"});
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

OwnComputerQuestion::OwnComputerQuestion(QString engine, QObject* parent) : QObject(parent), engine_(std::move(engine)) {}

OwnComputerQuestion::~OwnComputerQuestion() { stop(); }

void OwnComputerQuestion::stop() {
  if (process_ == nullptr) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(1000);
  process_->deleteLater();
  process_ = nullptr;
}

void OwnComputerQuestion::ask(const Choices& choices) {
  const QStringList arguments = arguments_for(choices);
  if (arguments == asked_ && (answer_ || process_ != nullptr)) return;
  stop();
  answer_.reset();
  asked_ = arguments;
  if (engine_.isEmpty()) return Q_EMIT refused(say("The plimsoll program, which looks at this computer, was not found beside the window's file or on the PATH."));
  process_ = new QProcess(this);
  connect(process_, &QProcess::finished, this, [this](int code) { take_answer(*process_, code); });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    process_->deleteLater();
    process_ = nullptr;
    Q_EMIT refused(say("%1 cannot be started.").arg(engine_));
  });
  process_->start(engine_, arguments);
}

void OwnComputerQuestion::take_answer(QProcess& process, int code) {
  process_ = nullptr;
  process.deleteLater();
  if (code != 0 || process.exitStatus() != QProcess::NormalExit) {
    return Q_EMIT refused(QString::fromUtf8(process.readAllStandardError()).trimmed());
  }
  auto own = read_answer(process.readAllStandardOutput());
  if (!own) return Q_EMIT refused(QString::fromStdString(own.error().text()));
  answer_ = std::move(*own);
  Q_EMIT answered();
}

}  // namespace plimsoll::gui
