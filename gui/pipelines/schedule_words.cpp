#include "gui/pipelines/schedule_words.h"

#include <QHash>

#include "gui/language/say.h"

namespace plimsoll::gui {

QString schedule_words(const QString& name) {
  static const QHash<QString, const char*> kWords{
      {QStringLiteral("naive"), to_say("One micro-batch at a time")},
      {QStringLiteral("gpipe"), to_say("All forwards, then all backwards")},
      {QStringLiteral("pipedream"), to_say("1f1b without a flush, weights stashed")},
      {QStringLiteral("1f1b"), to_say("One forward, one backward (PipeDream-flush, DAPPLE)")},
      {QStringLiteral("2bw"), to_say("1f1b without a flush, two versions of the weights")},
      {QStringLiteral("interleaved"), to_say("1f1b over several chunks a rank (PTD-P)")},
      {QStringLiteral("looped-bfs"), to_say("All forwards chunk by chunk, then all backwards")},
      {QStringLiteral("chimera"), to_say("Two pipelines in opposite directions")},
      {QStringLiteral("zb-h1"), to_say("Zero bubble with 1f1b's memory")},
      {QStringLiteral("zb-h2"), to_say("Zero bubble with twice 1f1b's memory")},
      {QStringLiteral("zb-v"), to_say("Zero bubble on two stages a rank, there and back")},
      {QStringLiteral("v-half"), to_say("There and back with half of 1f1b's activations")},
      {QStringLiteral("v-min"), to_say("There and back with a third of 1f1b's activations")},
      {QStringLiteral("dualpipe"), to_say("Two pipelines in opposite directions, weight gradients apart")},
      {QStringLiteral("dualpipe-v"), to_say("Dualpipe on two stages a rank, there and back")},
      {QStringLiteral("hanayo"), to_say("Waves: stages in a snake over the ranks")},
      {QStringLiteral("bpipe"), to_say("1f1b, activations balanced between mirror ranks")},
      {QStringLiteral("auto"), to_say("The best found for these times")},
  };
  const char* const english = kWords.value(name, nullptr);
  return english == nullptr ? QString() : say(english);
}

}  // namespace plimsoll::gui
