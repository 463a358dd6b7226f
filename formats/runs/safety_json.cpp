#include "formats/runs/safety_answer.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

std::string measured(const SafetyAnswer::Measured& m) {
  JsonLine line;
  line.integer("times", m.times).integer("written_bytes_each", m.written_each.count);
  return line.number("seconds_each", m.seconds_each).str();
}

std::string learned(const SafetyAnswer::Learned& l) {
  JsonLine line;
  line.integer("from", l.from).number("seconds_each", l.seconds_each);
  return line.integer("later", l.later).number("later_seconds_each", l.later_seconds_each).str();
}

}  // namespace

std::string to_json(const SafetyAnswer& a) {
  JsonLine line;
  line.text("durability", to_text(a.safety.durability)).integer("every_steps", a.every());
  line.integer("written_bytes_each", a.written_each.count).integer("read_bytes_each", a.read_each.count);
  line.integer("room_bytes", a.room.count).raw("seconds_each", a.seconds_each ? json_number(*a.seconds_each) : "null");
  line.raw("step_share", a.step_share ? json_number(*a.step_share) : "null").text("source", a.source);
  line.raw("measured", a.measured ? measured(*a.measured) : "null");
  return line.raw("learned", a.learned ? learned(*a.learned) : "null").str();
}

}  // namespace plimsoll
