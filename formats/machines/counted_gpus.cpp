#include "formats/machines/counted_gpus.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace plimsoll {

std::pair<std::string, int> count_and_name(const std::string& text) {
  int count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const auto skip_blanks = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size())); };
  skip_blanks();
  const std::string_view signs[] = {"x", "X", "*", "×"};
  const auto sign =
      std::find_if(std::begin(signs), std::end(signs), [&](std::string_view one) { return rest.starts_with(one); });
  if (code != std::errc{} || count < 1 || sign == std::end(signs)) return {text, 1};
  rest.remove_prefix(sign->size());
  skip_blanks();
  return {std::string(rest), count};
}

}  // namespace plimsoll
