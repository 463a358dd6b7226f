#include "cli/program/lost_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "cli/program/exit_code.h"

namespace plimsoll {
namespace {

// The signal comes in the middle of anything: nothing here may allocate, lock or throw.

std::string& remedy_of_all() {
  static std::string remedy;  // written before the handler is there
  return remedy;
}

void say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Reads /proc/self/maps line by line, the beginning of each as far as there is room.
class MapLines {
 public:
  MapLines() : file_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapLines() { ::close(file_); }
  MapLines(const MapLines&) = delete;
  MapLines& operator=(const MapLines&) = delete;

  bool next() {
    length_ = 0;
    for (char letter = 0; ::read(file_, &letter, 1) == 1;) {
      if (letter == '\n') return true;
      if (length_ < line_.size()) line_[length_++] = letter;
    }
    return false;
  }
  [[nodiscard]] std::string_view line() const { return {line_.data(), length_}; }

 private:
  int file_;
  std::array<char, 1024> line_{};
  std::size_t length_ = 0;
};

std::uint64_t take_hexadecimal(std::string_view& text) {
  std::uint64_t value = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char letter = text.front();
    if (letter >= '0' && letter <= '9') value = value * 16 + static_cast<std::uint64_t>(letter - '0');
    else if (letter >= 'a' && letter <= 'f') value = value * 16 + static_cast<std::uint64_t>(letter - 'a' + 10);
    else break;
  }
  return value;
}

/// The file whose mapping holds the address, out of a line "begin-end rights offset device inode   name"; empty when it does not.
std::string_view name_if_holds(std::string_view line, std::uint64_t address) {
  const std::uint64_t begin = take_hexadecimal(line);
  line.remove_prefix(line.empty() ? 0 : 1);
  const std::uint64_t end = take_hexadecimal(line);
  const std::size_t name = line.find('/');
  return address >= begin && address < end && name != std::string_view::npos ? line.substr(name) : std::string_view();
}

extern "C" void say_lost_page(int /*signal*/, siginfo_t* found, void* /*context*/) {
  const auto address = reinterpret_cast<std::uint64_t>(found->si_addr);
  std::string_view name;
  for (MapLines lines; name.empty() && lines.next();) {
    name = name_if_holds(lines.line(), address);
    if (name.empty()) continue;
    say("plimsoll: ");
    say(name);
    say(": the system has no page for it: the disk or a quota is full, the drive failed, or the file was made shorter");
  }
  if (name.empty()) say("plimsoll: memory: the system lost a page of it: it is damaged, or there is none left");
  say("\n  ");
  say(remedy_of_all());
  say("\n");
  ::_exit(static_cast<int>(ExitCode::kEnvironment));
}

}  // namespace

void end_on_lost_pages(Durability durability, const std::string& run_file) {
  remedy_of_all() = durability == Durability::kNone
                        ? std::string("this run kept no state; --durability checkpoint or step does")
                        : "the states that were kept are whole: plimsoll run --resume " + run_file + " goes on from the last";
  struct sigaction action = {};
  action.sa_sigaction = say_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace plimsoll
