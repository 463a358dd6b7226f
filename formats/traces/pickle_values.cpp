#include "formats/traces/pickle_values.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <unordered_map>

#include "core/base/error.h"

namespace plimsoll {
namespace {

constexpr std::size_t kWindow = 1 << 20;
constexpr std::uint64_t kLongestText = 1 << 24;
constexpr std::size_t kMostValues = std::size_t{1} << 29;

}  // namespace

/// Python's pickle machine, protocols 2 to 5 (pickletools lists its instructions), without those that import or call.
class PickleMachine {
 public:
  explicit PickleMachine(ByteSource source) : source_(std::move(source)) {}

  PickleValues run() {
    if (byte() != 0x80) refuse("no pickle of protocol 2 or later");
    if (byte() > 5) refuse("a pickle of a protocol that is not known");
    while (step(byte())) {
    }
    return std::move(values_);
  }

 private:
  using Id = PickleValues::Id;

  [[noreturn]] void refuse(const std::string& what) const {
    throw EnvironmentError({.kind = ErrorKind::kInput,
                            .what = what,
                            .where = fmt::format("{}, byte {}", source_.path(), before_ + at_),
                            .remedy = "name a file that torch.cuda.memory._dump_snapshot wrote"});
  }

  std::uint8_t byte() {
    if (at_ == size_) {
      before_ += size_;
      at_ = 0;
      size_ = source_.read(window_.data(), window_.size());
      if (size_ == 0) refuse("the pickle is cut off");
    }
    return static_cast<std::uint8_t>(window_[at_++]);
  }

  std::uint64_t little(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }

  std::string text(std::uint64_t bytes) {
    if (bytes > kLongestText) refuse("a text of more than 16 MiB");
    std::string out;
    for (std::uint64_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(byte()));
    return out;
  }

  void push(PickleKind kind, std::int64_t number = 0) {
    if (values_.values_.size() >= kMostValues) refuse("more values than are read");
    stack_.push_back(static_cast<Id>(values_.values_.size()));
    values_.values_.push_back({kind, number});
  }
  void push_text(std::string words) {
    push(PickleKind::kText, static_cast<std::int64_t>(values_.texts_.size()));
    values_.texts_.push_back(std::move(words));
  }
  void push_items(PickleKind kind, std::vector<Id> items = {}) {
    push(kind, static_cast<std::int64_t>(values_.items_.size()));
    values_.items_.push_back(std::move(items));
  }

  Id pop() {
    if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) refuse("takes a value that is not there");
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }
  std::vector<Id> pop_to_mark() {
    if (marks_.empty()) refuse("goes back to a mark that is not there");
    std::vector<Id> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void extend(const std::vector<Id>& more, PickleKind kind) {
    if (stack_.empty() || values_.kind(stack_.back()) != kind || (kind == PickleKind::kDict && more.size() % 2 != 0))
      refuse("adds to a value that is no list or dict");
    std::vector<Id>& items = values_.items_[static_cast<std::size_t>(values_.values_[stack_.back()].number)];
    items.insert(items.end(), more.begin(), more.end());
  }
  std::vector<Id> pop_some(std::size_t count) {
    std::vector<Id> items(count);
    while (count > 0) items[--count] = pop();
    return items;
  }

  void remember(std::uint64_t slot) {
    if (stack_.empty()) refuse("remembers a value that is not there");
    memo_[slot] = stack_.back();
  }
  void recall(std::uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) refuse("recalls a value that it never remembered");
    stack_.push_back(found->second);
  }

  void push_long() {
    const int bytes = byte();
    if (bytes > 8) {  // beyond 64 bits: nobody asks for its value
      text(static_cast<std::uint64_t>(bytes));
      return push(PickleKind::kNumber, INT64_MAX);
    }
    std::uint64_t value = little(bytes);
    if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1)) != 0) value |= ~std::uint64_t{0} << (8 * bytes);
    push(PickleKind::kNumber, static_cast<std::int64_t>(value));
  }

  void skip_real() {
    text(8);
    push(PickleKind::kReal);
  }

  /// Whether the instruction pushes a value that it holds itself; then it is done.
  bool pushes_value(std::uint8_t code) {
    switch (code) {
      case 'N': push(PickleKind::kNone); return true;
      case 0x88: push(PickleKind::kBool, 1); return true;
      case 0x89: push(PickleKind::kBool, 0); return true;
      case 'K': push(PickleKind::kNumber, byte()); return true;
      case 'M': push(PickleKind::kNumber, static_cast<std::int64_t>(little(2))); return true;
      case 'J': push(PickleKind::kNumber, static_cast<std::int32_t>(little(4))); return true;
      case 0x8a: push_long(); return true;
      case 'G': skip_real(); return true;
      case 0x8c:
      case 'C': push_text(text(byte())); return true;
      case 'X':
      case 'B': push_text(text(little(4))); return true;
      case 0x8d: push_text(text(little(8))); return true;
      default: return false;
    }
  }

  bool step(std::uint8_t code) {
    if (pushes_value(code)) return true;
    switch (code) {
      case '.': values_.top_ = pop(); return false;
      case 0x95: little(8); break;  // a frame
      case '(': marks_.push_back(stack_.size()); break;
      case '0': pop(); break;
      case '1': pop_to_mark(); break;
      case '}': push_items(PickleKind::kDict); break;
      case ']':
      case ')': push_items(PickleKind::kList); break;
      case 't':
      case 'l': push_items(PickleKind::kList, pop_to_mark()); break;
      case 0x85:
      case 0x86:
      case 0x87: push_items(PickleKind::kList, pop_some(code - 0x84u)); break;
      case 'a': extend(pop_some(1), PickleKind::kList); break;
      case 's': extend(pop_some(2), PickleKind::kDict); break;
      case 'e': extend(pop_to_mark(), PickleKind::kList); break;
      case 'u': extend(pop_to_mark(), PickleKind::kDict); break;
      case 0x94: remember(memo_.size()); break;
      case 'q': remember(byte()); break;
      case 'r': remember(little(4)); break;
      case 'h': recall(byte()); break;
      case 'j': recall(little(4)); break;
      default: refuse(fmt::format("the pickle names classes or calls functions (instruction {:#04x}), which is never done here", code));
    }
    return true;
  }

  ByteSource source_;
  std::vector<char> window_ = std::vector<char>(kWindow);
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  std::size_t before_ = 0;
  PickleValues values_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Id> memo_;
};

PickleValues PickleValues::read(ByteSource source) { return PickleMachine(std::move(source)).run(); }

std::int64_t PickleValues::number(Id id, std::int64_t otherwise) const {
  if (id == kNothing) return otherwise;
  const bool has = values_[id].kind == PickleKind::kNumber || values_[id].kind == PickleKind::kBool;
  return has ? values_[id].number : otherwise;
}

const std::string& PickleValues::text(Id id) const {
  static const std::string kEmpty;
  if (id == kNothing || values_[id].kind != PickleKind::kText) return kEmpty;
  return texts_[static_cast<std::size_t>(values_[id].number)];
}

const std::vector<PickleValues::Id>& PickleValues::items(Id id) const {
  static const std::vector<Id> kEmpty;
  const bool has = id != kNothing && (values_[id].kind == PickleKind::kList || values_[id].kind == PickleKind::kDict);
  return has ? items_[static_cast<std::size_t>(values_[id].number)] : kEmpty;
}

PickleValues::Id PickleValues::find(Id dict, std::string_view key) const {
  if (dict == kNothing || values_[dict].kind != PickleKind::kDict) return kNothing;
  const std::vector<Id>& entries = items(dict);
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
    if (text(entries[i]) == key) return entries[i + 1];
  }
  return kNothing;
}

}  // namespace plimsoll
