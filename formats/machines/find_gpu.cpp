#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "core/base/nearest_names.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/unlisted_hardware.h"

namespace plimsoll {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kMakers[] = {"nvidia", "geforce", "tesla",       "amd",    "radeon", "instinct", "gpu",
                                        "with",   "design",  "generation", "workstation", "server", "edition"};
/// Who else sells a board, and what they call theirs: the same chip and memory, a little more clock at most.
constexpr std::string_view kSellers[] = {
    "founders", "fe",      "asus",       "msi",    "gigabyte", "evga",  "zotac", "palit", "pny",    "gainward", "inno3d",    "galax", "kfa2",
    "colorful", "manli",   "xfx",        "asrock", "sapphire", "rog",   "strix", "tuf",   "gaming", "oc",       "trio",      "nitro", "pulse",
    "ventus",   "suprim",  "powercolor", "aorus",  "eagle",    "turbo", "ftw3",  "xc3",   "ultra",  "trinity",  "windforce", "black", "phantom",
    "gamerock", "merc"};
constexpr std::string_view kJoined[] = {"quadrortx", "titanrtx", "rtx", "gtx"};
constexpr std::string_view kSuffixes[] = {"super", "max", "ti", "q"};
constexpr std::size_t kLongestName = 200;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_maker(std::string_view word) {
  const auto is_in = [word](const auto& words) { return std::find(std::begin(words), std::end(words), word) != std::end(words); };
  return is_in(kMakers) || is_in(kSellers);
}

/// Words that people write without a space behind a family or a model's number: "rtx3090", "2080ti", "2080supermaxq".
void split_word(std::string_view word, Words& words) {
  for (const std::string_view family : kJoined) {
    if (!word.starts_with(family) || (word.size() == family.size() && family.size() == 3)) continue;
    if (family.size() > 3) words.emplace_back(family.substr(0, family.size() - 3));
    words.emplace_back(family.substr(family.size() - 3));
    word.remove_prefix(family.size());
    break;
  }
  constexpr std::size_t kDigits = 4;
  const bool numbered = word.size() > kDigits && std::all_of(word.begin(), word.begin() + kDigits,
                                                            [](unsigned char c) { return std::isdigit(c) != 0; });
  Words rest;
  for (std::string_view left = numbered ? word.substr(kDigits) : std::string_view(); !left.empty();) {
    const auto* known = std::find_if(std::begin(kSuffixes), std::end(kSuffixes),
                                     [&](std::string_view suffix) { return left.starts_with(suffix); });
    if (known == std::end(kSuffixes)) return void(words.emplace_back(word));
    rest.emplace_back(*known);
    left.remove_prefix(known->size());
  }
  if (!word.empty()) words.emplace_back(rest.empty() ? word : word.substr(0, kDigits));
  words.insert(words.end(), rest.begin(), rest.end());
}

/// Lower-cased words of a name without the maker's and the seller's; "laptop" and "mobile" are the same word.
Words words_of(std::string_view name) {
  Words words;
  std::string word;
  bool of_seller = false;
  const auto finish = [&] {
    if (word == "laptop") word = "mobile";
    if (word.size() > 1 && word.back() == 'g' && word.find_first_not_of("0123456789") + 1 == word.size()) word += 'b';  // "24G"
    const bool theirs = is_maker(word) || (of_seller && word == "x");  // "Gaming X Trio", but not "Titan X"
    if (!word.empty() && !theirs) split_word(word, words);
    if (!word.empty()) of_seller = theirs;
    word.clear();
  };
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      finish();
    }
  }
  finish();
  return words;
}

std::string key_of(const Words& words) { return fmt::format("{}", fmt::join(words, "")); }

bool is_family(std::string_view word) { return is_one_of(word, {"rtx", "gtx"}); }
bool is_size(std::string_view word) { return word.ends_with("gb") && word.size() > 2; }
bool is_socket(std::string_view word) {
  return word.starts_with("sxm") || word.starts_with("hbm") || is_one_of(word, {"pcie"});
}
bool is_power_class(std::string_view word) { return is_one_of(word, {"mobile", "max", "q"}); }

Words without_family(Words words) {
  if (!words.empty() && is_family(words.front())) words.erase(words.begin());
  return words;
}

bool is_same(const Words& wanted, const Words& known) {
  if (key_of(wanted) == key_of(known) || key_of(wanted) == key_of(without_family(known))) return true;
  Words a = wanted;
  Words b = known;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

/// Takes one word of `known` for each of `wanted`; nothing when a word has no partner. A socket may be cut short
/// ("SXM").
std::optional<Words> without(const Words& wanted, Words known) {
  for (const auto& word : wanted) {
    const auto same = std::find_if(known.begin(), known.end(), [&](const std::string& other) {
      return other == word || (is_socket(word) && other.starts_with(word));
    });
    if (same == known.end()) return std::nullopt;
    known.erase(same);
  }
  return known;
}

/// Words of `known` that `wanted` leaves open; nothing when `wanted` is no shorter form of it.
std::optional<Words> left_open(const Words& wanted, const Words& known) {
  if (const auto rest = without(wanted, known)) return rest;
  // "rtx2060": words that run together. A name of signs alone ("--") has none.
  for (std::size_t count = 1; count < known.size(); ++count) {
    const auto end = known.begin() + static_cast<std::ptrdiff_t>(count);
    if (key_of(Words(known.begin(), end)) == key_of(wanted)) return Words(end, known.end());
  }
  return std::nullopt;
}

/// True when the open words name a build of one model and not another model ("Ti", "Super", "Ada").
bool is_build(const Words& rest) {
  return std::all_of(rest.begin(), rest.end(), [](const std::string& word) {
    return is_family(word) || is_size(word) || is_socket(word) || is_power_class(word);
  });
}

/// A consumer board's memory is never guessed: boards of one name are sold with different sizes.
bool may_be_taken(const GpuEntry& gpu, const Words& rest) {
  const bool open_size = std::any_of(rest.begin(), rest.end(), is_size);
  return is_build(rest) && !(open_size && gpu.board == GpuBoard::kGeForce);
}

bool states_size(const Words& words) { return std::any_of(words.begin(), words.end(), is_size); }

/// Without a size that is the board's own, where its name has none: "RTX 3090 24GB".
Words without_own_size(Words wanted, const GpuEntry& gpu, const Words& known) {
  if (states_size(known)) return wanted;
  const auto gib = (gpu.memory.count + kGiB.count / 2) / kGiB.count;
  std::erase(wanted, fmt::format("{}gb", gib));
  return wanted;
}

/// "8x RTX 4090 (PCIe4 x16)" is "RTX 4090".
std::string_view without_remarks(std::string_view name) {
  name = name.substr(0, name.find('('));
  const std::size_t digits = name.find_first_not_of("0123456789");
  const bool counted = digits != std::string_view::npos && digits > 0 && name.substr(digits).starts_with("x ");
  return counted ? name.substr(digits + 2) : name;
}

/// "Titan X (Maxwell)": what stands in brackets tells boards apart where with it only one board is left, of one size.
const GpuEntry* told_by_remark(const std::vector<GpuEntry>& entries, std::string_view name) {
  if (name.find('(') == std::string_view::npos) return nullptr;
  const Words wanted = words_of(name);
  const GpuEntry* only = nullptr;
  for (const auto& gpu : entries) {
    const auto rest = without(wanted, words_of(gpu.name));
    if (!rest || !std::all_of(rest->begin(), rest->end(), is_size)) continue;
    if (only != nullptr) return nullptr;
    only = &gpu;
  }
  return only;
}

/// Of "RTX 4090 x2": how several of a board are written; empty where the name does not end with a number of them.
std::string as_several(const std::vector<GpuEntry>& entries, std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  if (digits == std::string_view::npos || digits + 1 == name.size() || digits < 2) return {};
  if ((name[digits] != 'x' && name[digits] != '*') || name[digits - 1] != ' ') return {};
  const auto board = find_gpu(entries, name.substr(0, digits - 1));
  return board ? fmt::format("several are written '{}x {}'", name.substr(digits + 1), board->name) : std::string();
}

/// The first few, and how many more there are.
std::string few_of(const Words& boards) {
  constexpr std::size_t kFew = 12;
  if (boards.size() <= kFew) return fmt::format("{}", fmt::join(boards, ", "));
  return fmt::format("{} and {} more", fmt::join(boards.begin(), boards.begin() + kFew, ", "), boards.size() - kFew);
}

Error ambiguous(std::string_view name, const Words& builds, const Words& models) {
  std::string what = fmt::format("'{}' does not say which board is meant: {}", name, few_of(builds.empty() ? models : builds));
  if (!builds.empty() && !models.empty()) {
    what += fmt::format("; {} {}", few_of(models), models.size() == 1 ? "is another model" : "are other models");
  }
  return {.kind = ErrorKind::kUnknownName,
          .what = std::move(what),
          .where = {},
          .remedy = fmt::format("write it out, for example '{}'", builds.empty() ? models.front() : builds.front())};
}

}  // namespace

bool is_alias(const GpuEntry& gpu, std::string_view name) {
  const Words wanted = words_of(without_remarks(name.substr(0, kLongestName)));
  return std::any_of(gpu.aliases.begin(), gpu.aliases.end(),
                     [&](const std::string& alias) { return is_same(wanted, words_of(alias)); });
}

Result<GpuEntry> find_gpu(const std::vector<GpuEntry>& entries, std::string_view name) {
  name = name.substr(0, kLongestName);
  for (const auto& gpu : entries) {
    if (gpu.name == name) return gpu;
  }
  if (const GpuEntry* told = told_by_remark(entries, name)) return *told;
  const Words stated = words_of(without_remarks(name));
  const GpuEntry* only = nullptr;
  Words builds;
  Words models;
  for (const auto& gpu : entries) {
    const Words known = words_of(gpu.name);
    const Words wanted = without_own_size(stated, gpu, known);
    if (is_same(wanted, known) || (!stated.empty() && is_alias(gpu, name))) return gpu;
    const auto rest = wanted.empty() ? std::nullopt : left_open(wanted, known);
    if (!rest) continue;
    if (may_be_taken(gpu, *rest)) only = &gpu;
    (is_build(*rest) ? builds : models).push_back(gpu.name);
  }
  if (only != nullptr && builds.size() + models.size() == 1) return *only;
  if (!builds.empty() || !models.empty()) return fail(ambiguous(name, builds, models));
  if (const UnlistedHardware* other = find_unlisted_hardware(name)) return fail(refuse_unlisted(name, *other));
  Words names;
  for (const auto& gpu : entries) names.push_back(gpu.name);
  if (std::string several = as_several(entries, name); !several.empty()) {
    return fail({.kind = ErrorKind::kUnknownName, .what = fmt::format("no GPU is called '{}'", name), .where = {}, .remedy = std::move(several)});
  }
  Words near = near_names(name, names);
  if (near.empty()) near = near_names(fmt::format("{}", fmt::join(words_of(name), " ")), names);
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("no GPU is called '{}'", name),
               .where = {},
               .remedy = near.empty() ? "plimsoll machines lists them; --machine FILE states one" : did_you_mean(name, near)});
}

}  // namespace plimsoll
