#include "formats/trainers/optimizer_names.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/base/nearest_names.h"

namespace plimsoll {
namespace {

/// A name as name_key has it.
struct OptimizerName {
  std::string_view key;
  std::string_view options;
};

constexpr OptimizerName kNames[] = {
    {"adamw", "--optimizer adamw"},
    {"adam", "--optimizer adam"},
    {"sgd", "--optimizer sgd"},
    {"adafactor", "--optimizer adafactor --optimizer-loop for-loop"},
    {"lion", "--optimizer lion"},
    {"lamb", "--optimizer lamb"},
    {"muon", "--optimizer muon"},
    {"adamwtorch", "--optimizer adamw"},
    {"adamwtorchfused", "--optimizer adamw --optimizer-loop fused"},
    {"adamwhf", "--optimizer adamw"},
    {"adamwapexfused", "--optimizer adamw"},
    {"fusedadam", "--optimizer adamw"},
    {"adamwbnb8bit", "--optimizer adam8bit"},
    {"adamw8bit", "--optimizer adam8bit"},
    {"adamwtorch8bit", "--optimizer adam8bit"},
    {"adamwtorch4bit", "--optimizer adamw --state-bits 4"},
    {"adamw4bit", "--optimizer adamw --state-bits 4"},
    {"pagedadamw", "--optimizer adamw --paged-states"},
    {"pagedadamw32bit", "--optimizer adamw --paged-states"},
    {"pagedadamw8bit", "--optimizer adam8bit --paged-states"},
    {"lion32bit", "--optimizer lion"},
    {"pagedlion", "--optimizer lion --paged-states"},
    {"pagedlion32bit", "--optimizer lion --paged-states"},
    {"galore", "--optimizer adamw --projection galore:RANK"},
    {"galoreadamw", "--optimizer adamw --projection galore:RANK"},
    {"galoreadamw8bit", "--optimizer adam8bit --projection galore:RANK"},
    {"galoreadamwlayerwise", "--optimizer adamw --projection galore:RANK --update-in-backward"},
    {"galoreadamw8bitlayerwise", "--optimizer adam8bit --projection galore:RANK --update-in-backward"},
    {"apollo", "--optimizer adamw --projection apollo:RANK"},
    {"apollomini", "--optimizer adamw --projection apollo-mini"},
    {"apolloadamw", "--optimizer adamw --projection apollo:RANK"},
    {"apolloadamwlayerwise", "--optimizer adamw --projection apollo:RANK --update-in-backward"},
    {"lomo", "--optimizer sgd --update-in-backward"},
    {"adalomo", "--optimizer adafactor --update-in-backward"}};

}  // namespace

std::string_view optimizer_options(std::string_view name) {
  const std::string key = name_key(name);
  const auto* const found = std::ranges::find(kNames, key, &OptimizerName::key);
  return found == std::end(kNames) ? std::string_view{} : found->options;
}

bool say_optimizer(TrainingFile& file, std::string_view name, std::string_view rank) {
  const std::string_view options = optimizer_options(name);
  std::istringstream words{std::string(options)};
  std::string option;
  for (std::string word; words >> word;) {
    if (const auto place = word.find("RANK"); place != std::string::npos) word.replace(place, 4, rank);
    if (word.starts_with("--")) file.say(option = word);
    else file.say(option, word);
  }
  return !options.empty();
}

}  // namespace plimsoll
