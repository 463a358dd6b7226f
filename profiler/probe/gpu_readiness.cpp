#include "profiler/probe/gpu_readiness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

/// The oldest driver branch that runs CUDA 13, and the oldest that runs CUDA 12 (NVIDIA's table of compatibility).
constexpr int kDriverOfCuda13 = 580;
constexpr int kDriverOfCuda12 = 525;
constexpr Bytes kModestLimit = 64 * kMiB;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "580.65.06" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 …".
std::string driver_version(const std::string& line) {
  for (std::size_t i = 0; i + 3 < line.size(); ++i) {
    const bool begins = line[i] >= '1' && line[i] <= '9' && (i == 0 || line[i - 1] == ' ');
    const std::size_t end = line.find_first_not_of("0123456789.", i);
    const std::string word = line.substr(i, end == std::string::npos ? end : end - i);
    if (begins && word.size() >= 5 && word.find('.') != std::string::npos) return word;
  }
  return {};
}

Finding look_at_driver(const std::string& root) {
  const std::string line = first_line(root + "/proc/driver/nvidia/version");
  if (line.empty()) {
    return {"driver", FindingState::kMissing, "no NVIDIA driver is loaded",
            "install one (Ubuntu: sudo ubuntu-drivers install; Debian: nvidia-driver) and reboot; in a container start it with "
            "--gpus all"};
  }
  const std::string version = driver_version(line);
  const int branch = std::atoi(version.c_str());
  if (branch >= kDriverOfCuda13) return {"driver", FindingState::kGood, "NVIDIA " + version, {}};
  if (branch >= kDriverOfCuda12) {
    return {"driver", FindingState::kLimited, fmt::format("NVIDIA {}: runs CUDA 12, not CUDA 13", version),
            fmt::format("update to branch {} or newer", kDriverOfCuda13)};
  }
  return {"driver", FindingState::kMissing,
          version.empty() ? "a driver of unknown version: " + line : "NVIDIA " + version + ": too old",
          fmt::format("update to branch {} or newer", kDriverOfCuda13)};
}

/// The number behind `#define name`; 0 when it is not there.
int defined_in(const fs::path& header, const std::string& name) {
  std::ifstream file(header);
  for (std::string line; std::getline(file, line);) {
    const std::string start = "#define " + name + " ";
    if (line.rfind(start, 0) == 0) return std::atoi(line.c_str() + start.size());
  }
  return 0;
}

Finding look_at_toolkit(const ReadinessOptions& options) {
  const std::vector<std::string> folders =
      options.toolkits.empty() ? std::vector<std::string>{"/usr/local/cuda"} : options.toolkits;
  for (const std::string& folder : folders) {
    const int version = defined_in(options.root + folder + "/include/cuda.h", "CUDA_VERSION");
    if (version == 0) continue;
    const bool compiler = fs::exists(options.root + folder + "/bin/nvcc");
    return {"toolkit", compiler ? FindingState::kGood : FindingState::kLimited,
            fmt::format("CUDA {}.{} in {}{}", version / 1000, version % 1000 / 10, folder, compiler ? "" : ", without nvcc"),
            compiler ? "" : "install nvcc to build the CUDA backend (cuda-nvcc)"};
  }
  return {"toolkit", FindingState::kMissing,
          "no CUDA toolkit is installed; it is needed to build the GPU parts, not to run a built program",
          "install cuda-toolkit, or pip install nvidia-cuda-toolkit's parts, and build again"};
}

/// Whether the driver lets users read counters and traces: its own answer, and what the next boot will do.
Finding look_at_permissions(const ReadinessOptions& options) {
  if (!options.capture_built_in)
    return {"profiling", FindingState::kMissing, options.capture_text, "install CUPTI (cuda-cupti) and build again"};
  std::ifstream file(options.root + "/proc/driver/nvidia/params");
  if (!file)
    return {"profiling", FindingState::kMissing, options.capture_text + "; no driver tells who may profile",
            "load the driver first"};
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("RmProfilingAdminOnly:", 0) != 0) continue;
    const bool restricted = std::atoi(line.c_str() + line.find(':') + 1) != 0;
    if (!restricted) return {"profiling", FindingState::kGood, options.capture_text + "; all users may profile", {}};
    if (options.may_administer)
      return {"profiling", FindingState::kGood, options.capture_text + "; only administrators may profile, and this is one", {}};
    return {"profiling", FindingState::kLimited,
            options.capture_text +
                "; hardware counters are for administrators only (RmProfilingAdminOnly: 1), and some drivers refuse traces too",
            "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/nvidia-profiling.conf, "
            "sudo update-initramfs -u, reboot; or profile as root"};
  }
  return {"profiling", FindingState::kGood, options.capture_text + "; the driver restricts nobody", {}};
}

/// One end's answer about the link; 0: it does not tell.
struct LinkEnd {
  int width = 0;
  double speed = 0;  ///< GT/s
};

LinkEnd link_of(const fs::path& device, const char* when) {
  return {std::atoi(first_line(device / fmt::format("{}_link_width", when)).c_str()),
          std::atof(first_line(device / fmt::format("{}_link_speed", when)).c_str())};
}

int generation(double speed) {
  int number = 0;
  for (const double rate : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) number += speed >= rate ? 1 : 0;
  return number;
}

std::string link_text(const LinkEnd& link) { return fmt::format("PCIe {} x{}", generation(link.speed), link.width); }

Finding look_at_link(const fs::path& device) {
  std::error_code ignored;
  const LinkEnd now = link_of(device, "current");
  const LinkEnd own = link_of(device, "max");
  const LinkEnd slot = link_of(fs::canonical(device, ignored).parent_path(), "max");
  const std::string name = device.filename().string();
  const int width = slot.width > 0 ? std::min(own.width, slot.width) : own.width;
  const double speed = slot.speed > 0 ? std::min(own.speed, slot.speed) : own.speed;
  Finding finding{"pcie",
                  FindingState::kGood,
                  fmt::format("{}: {} now; the board can {}, the slot {}", name, link_text(now), link_text(own),
                              slot.width > 0 ? link_text(slot) : "does not tell"),
                  {}};
  if (now.width < width) {
    finding.state = FindingState::kLimited;
    finding.remedy = "reseat the board; look whether an SSD or another card shares its lanes (the mainboard's manual)";
  } else if (own.width > width) {
    finding.state = FindingState::kLimited;
    finding.remedy = fmt::format("move the board to a slot with {} lanes: offload is as fast as this link", own.width);
  } else if (now.speed < speed) {
    // An idle link is slowed down to save power; under load it comes back.
    finding.text += fmt::format(" (an idle link runs slower; under load PCIe {} is expected)", generation(speed));
  }
  return finding;
}

bool is_gpu(const fs::path& device) {
  const std::string kind = first_line(device / "class");
  return kind.rfind("0x0300", 0) == 0 || kind.rfind("0x0302", 0) == 0;
}

void look_at_links(const std::string& root, std::vector<Finding>& findings) {
  std::error_code ignored;
  std::vector<fs::path> devices;
  for (const auto& entry : fs::directory_iterator(root + "/sys/bus/pci/devices", ignored)) {
    if (is_gpu(entry.path()) && link_of(entry.path(), "current").width > 0) devices.push_back(entry.path());
  }
  std::sort(devices.begin(), devices.end());
  for (const fs::path& device : devices) findings.push_back(look_at_link(device));
  if (devices.empty())
    findings.push_back({"pcie", FindingState::kMissing, "no GPU in a PCIe slot", "plans for GPUs can be made and simulated"});
}

Finding look_at_pinned(const std::optional<Bytes>& limit) {
  if (!limit) return {"pinned memory", FindingState::kGood, "no limit (ulimit -l)", {}};
  const bool modest = *limit < kModestLimit;
  return {
      "pinned memory", modest ? FindingState::kLimited : FindingState::kGood,
      fmt::format("{} may be locked by registering it (ulimit -l); what CUDA pins itself is not bound by that", to_text(*limit)),
      modest
          ? "raise it: '* - memlock unlimited' in /etc/security/limits.conf and log in again; in a container --ulimit memlock=-1"
          : ""};
}

/// By which --direct-storage runs.
Finding look_at_direct_storage(const ReadinessOptions& options) {
  if (options.cufile.empty()) {
    return {"direct storage", FindingState::kMissing, "NVIDIA's cuFile is not found: what a GPU keeps on an SSD passes through host memory",
            "for --direct-storage install GPUDirect Storage (nvidia-gds, or the CUDA toolkit's libcufile)"};
  }
  if (options.nvidia_fs) return {"direct storage", FindingState::kGood, options.cufile + ", nvidia-fs loaded", {}};
  return {"direct storage", FindingState::kLimited,
          options.cufile + " without nvidia-fs: its compatibility mode copies through host memory, so --direct-storage saves nothing",
          "install and load nvidia-fs (nvidia-gds; sudo modprobe nvidia-fs), or leave --direct-storage out; gdscheck -p tells what drive "
          "and board can do"};
}

}  // namespace

std::vector<Finding> gpu_readiness(const ReadinessOptions& options) {
  std::vector<Finding> findings{look_at_driver(options.root), look_at_toolkit(options), look_at_permissions(options)};
  look_at_links(options.root, findings);
  findings.push_back(look_at_pinned(options.locked_limit));
  findings.push_back(look_at_direct_storage(options));
  return findings;
}

std::string_view to_text(FindingState state) {
  switch (state) {
    case FindingState::kGood: return "good";
    case FindingState::kLimited: return "limited";
    case FindingState::kMissing: return "missing";
  }
  return "?";
}

}  // namespace plimsoll
