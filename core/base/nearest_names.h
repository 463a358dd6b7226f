#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// The `count` names nearest to `wanted` (edit distance over lower-cased letters and digits; prefixes first), best first,
/// ties in the order given.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names, std::size_t count = 3);

/// Those of the nearest that may be what was meant: half of the letters differ at most.
std::vector<std::string> near_names(std::string_view wanted, const std::vector<std::string>& names);

/// The first name of which `wanted` is a slip of the pen: at most a seventh of its letters, and no more than two, differ, and one is there more or less. Empty where there is none.
std::string slip_of(std::string_view wanted, const std::vector<std::string>& names);

/// "did you mean a, b or c?" for an error's remedy; empty when there are no names.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names);

/// Lower-cased letters and digits of `name` only: "RTX 2060-6GB" and "rtx20606gb" are the same key.
std::string name_key(std::string_view name);

/// Whether the name has this in it, whatever its case and signs ("rtx4090" is in "RTX 4090"); nothing is in every name.
bool has_in_name(std::string_view name, std::string_view part);

}  // namespace plimsoll
