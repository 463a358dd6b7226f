#include "tests/gpu/check_runner.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "profiler/probe/this_computer.h"
#include "tests/gpu/run_apart.h"

namespace plimsoll::gpu {
namespace {

constexpr int kNoDevice = 77;
constexpr double kToOpen = 40;  ///< seconds, beside those of the checks; a driver may have to start

/// Words by which this program calls itself.
constexpr const char* kDevice = "--device";
constexpr const char* kOne = "--check";

std::string board_name(std::string name) {
  for (const std::string_view brand : {"NVIDIA ", "GeForce "}) {
    if (name.starts_with(brand)) name.erase(0, brand.size());
  }
  return name;
}

/// The catalogue's row; of a board that it lacks what the driver says and rates of an H100, on which only predictions hang.
GpuEntry board_of(const DeviceInfo& info) {
  if (const auto known = find_gpu(built_in_gpu_catalogue(), board_name(info.name))) return *known;
  GpuEntry board = *find_gpu(built_in_gpu_catalogue(), "H100 SXM5 80GB");
  board.name = info.name;
  board.memory = info.total;
  board.compute_capability = fmt::format("{}.{}", info.major, info.minor);
  return board;
}

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

/// In a process of its own: what the device is.
int tell_device(const OpenDevice& open) {
  const auto device = open();
  if (!device) {
    say(device.error().text());
    return kNoDevice;
  }
  const DeviceInfo info = (*device)->info();
  const bool known = find_gpu(built_in_gpu_catalogue(), board_name(info.name)).has_value();
  say(fmt::format("{} sm_{}{}, {} free of {}, {}{}", info.name, info.major, info.minor, to_text(info.free), to_text(info.total),
                  info.software, known ? "" : "; not in the catalogue: predictions before calibration are an H100's"));
  return 0;
}

/// In a process of its own: one check. Its findings are lines of standard output.
int run_one(const Check& check, const OpenDevice& open) {
  const auto hear = [](const Finding& finding) { say(write_finding(finding)); };
  const auto broken = [&](const std::string& why) {
    hear({.name = check.name, .bound = check.bound, .verdict = Verdict::kBroken, .note = why});
  };
  try {
    const auto device = open();
    if (!device) return broken(device.error().text()), 1;
    Bench bench(*device, board_of((*device)->info()), check.name, check.bound, hear);
    check.run(bench);
  } catch (const std::exception& trouble) {
    broken(trouble.what());
  }
  return 0;
}

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string describe_machine() {
  const ThisComputer here = probe_this_computer();
  utsname system{};
  ::uname(&system);
  const std::string driver = first_line_of("/proc/driver/nvidia/version");
  return fmt::format("{}, {} cores, {} of memory, {} {}{}{}", here.cpu_model, here.logical_cores, to_text(here.memory_total),
                     system.sysname, system.release, driver.empty() ? "" : ", ", driver);
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

class Run {
 public:
  Run(const std::vector<std::string>& words, const std::vector<Check>& checks)
      : program_(std::filesystem::read_symlink("/proc/self/exe").string()), checks_(checks) {
    if (words.size() > 1) file_ = words[1];
    if (words.size() > 2) seconds_ = std::stod(words[2]);
    if (words.size() > 3) names_.assign(words.begin() + 3, words.end());
    conditions_ = {.device = {}, .machine = describe_machine(), .date = date_now(), .command = fmt::format("{}", fmt::join(words, " "))};
  }

  int all() {
    if (const int code = find_device(); code != 0) return code;
    start_ = std::chrono::steady_clock::now();
    for (const Check& check : checks_) {
      if (names_.empty() || std::find(names_.begin(), names_.end(), check.name) != names_.end()) run(check);
    }
    const auto bad = std::count_if(findings_.begin(), findings_.end(), [](const Finding& f) {
      return f.verdict == Verdict::kMissed || f.verdict == Verdict::kBroken;
    });
    say(fmt::format("{} of {} missed or broken", bad, findings_.size()));
    return bad == 0 ? 0 : 1;
  }

 private:
  int find_device() {
    const ApartEnd end = run_apart({program_, kDevice}, kToOpen, [&](const std::string& line) { conditions_.device += line; });
    if (end.code == 0) {
      say(conditions_.device);
      return 0;
    }
    const std::string why = end.code == kNoDevice ? conditions_.device : "the device cannot be opened: " + to_text(end);
    conditions_.device = "none: " + why;
    const Verdict verdict = end.code == kNoDevice ? Verdict::kSkipped : Verdict::kBroken;
    for (const Check& check : checks_)
      hear({.name = check.name, .bound = check.bound, .verdict = verdict, .note = "skipped: " + why});
    write();
    return end.code == kNoDevice ? kNoDevice : 1;
  }

  void run(const Check& check) {
    const double left = seconds_ - std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (left <= 0) return hear({.name = check.name, .bound = check.bound, .note = "skipped: out of time"});
    const ApartEnd end = run_apart({program_, kOne, check.name}, std::min(check.limit, left), [&](const std::string& line) {
      const auto finding = read_finding(line);
      finding ? hear(*finding) : say(line);  // a library's own words
    });
    if (end.code == 0) return;
    if (end.code > 0 && !findings_.empty() && findings_.back().name == check.name) return;  // it said why
    hear({.name = check.name, .bound = check.bound, .verdict = Verdict::kBroken, .note = to_text(end), .seconds = end.seconds});
  }

  void hear(const Finding& finding) {
    say(row_of(finding));
    findings_.push_back(finding);
    write();
  }

  /// By another name first, so that who is ended in the middle leaves the last whole file.
  void write() const {
    if (file_.empty()) return;
    { std::ofstream(file_ + ".part") << write_findings(conditions_, findings_); }
    std::error_code ignored;
    std::filesystem::rename(file_ + ".part", file_, ignored);
  }

  std::string program_, file_;
  double seconds_ = 420;
  std::vector<std::string> names_;
  const std::vector<Check>& checks_;
  Conditions conditions_;
  std::vector<Finding> findings_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

int run_checks(const std::vector<std::string>& words, const std::vector<Check>& checks, const OpenDevice& open) {
  if (words.size() == 2 && words[1] == kDevice) return tell_device(open);
  if (words.size() == 3 && words[1] == kOne) {
    const auto named = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.name == words[2]; });
    return named == checks.end() ? 2 : run_one(*named, open);
  }
  return Run(words, checks).all();
}

}  // namespace plimsoll::gpu
