#include "cli/options/machine_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "cli/options/size_option.h"
#include "formats/machines/counted_gpus.h"

namespace plimsoll {
namespace {

Error bad_option(std::string_view option, std::string_view text, std::string_view form) {
  return {.kind = ErrorKind::kInput,
          .what = fmt::format("{} '{}' is not of the form {}", option, text, form),
          .where = {},
          .remedy = {}};
}

template <typename Number>
bool read_all(std::string_view text, Number& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc{} && end == text.data() + text.size();
}

Result<std::optional<Bytes>> read_size_if_given(std::string_view option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto size = read_large_size(option, text);
  if (!size) return fail(size.error());
  return *size;
}

/// "2TB:3.5,1.7x2@5": capacity of all drives, then GB/s of one drive reading and writing, then how many, then GB/s of what
/// they share.
Result<void> read_ssd(std::string text, MachineOptions& options) {
  const std::string form = "SIZE[:READ,WRITE][xN][@UPLINK], for example 2TB:3.5,1.7x2";
  const std::string whole = text;
  if (const auto at = text.find('@'); at != std::string::npos) {
    double uplink = 0;
    if (!read_all(std::string_view(text).substr(at + 1), uplink)) return fail(bad_option("--ssd", whole, form));
    options.ssd_uplink_gbs = uplink;
    text.resize(at);
  }
  if (const auto times = text.find('x'); times != std::string::npos) {
    if (!read_all(std::string_view(text).substr(times + 1), options.ssd_count))
      return fail(bad_option("--ssd", whole, form));
    text.resize(times);
  }
  if (const auto colon = text.find(':'); colon != std::string::npos) {
    const std::string_view rates = std::string_view(text).substr(colon + 1);
    const auto comma = rates.find(',');
    double read = 0;
    double write = 0;
    if (comma == std::string_view::npos || !read_all(rates.substr(0, comma), read) ||
        !read_all(rates.substr(comma + 1), write)) {
      return fail(bad_option("--ssd", whole, form));
    }
    options.ssd_read_gbs = read;
    options.ssd_write_gbs = write;
    text.resize(colon);
  }
  const auto size = read_size_if_given("--ssd", text);
  if (!size) return fail(size.error());
  options.ssd = *size;
  return {};
}

/// "2x8 H100" and "2x 8x H100" are nodes times GPUs, which --nodes says. Boards' names begin with larger numbers, if with any.
void check_no_nodes(const std::string& rest, int nodes) {
  constexpr int kMostOfNode = 64;
  auto [name, count] = count_and_name(rest);
  if (count == 1) {
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (code != std::errc{} || *end != ' ') return;
    name = end + 1;
  }
  const bool memory = name.empty() || name.starts_with("GB") || name.starts_with("GiB");  // "4x 16 GB V100"
  if (nodes < 2 || count < 2 || count > kMostOfNode || memory) return;
  throw CLI::ValidationError("--on", fmt::format("{} nodes of {} GPUs are --on \"{}x {}\" --nodes {}", nodes, count, nodes * count, name, nodes));
}

Result<void> read_pcie(std::string_view text, MachineOptions& options) {
  const auto times = text.find('x');
  int generation = 0;
  int lanes = 0;
  if (times == std::string_view::npos || !read_all(text.substr(0, times), generation) ||
      !read_all(text.substr(times + 1), lanes)) {
    return fail(bad_option("--pcie", text, "GENERATIONxLANES, for example 3x16"));
  }
  options.pcie_generation = generation;
  options.pcie_lanes = lanes;
  return {};
}

}  // namespace

void add_gpu_options(CLI::App& command, MachineFlags& flags, const std::string& on, const std::string& gpus,
                     const std::string& group) {
  // A number before the name is as good as --gpus behind it, also for who refuses or keeps what was typed.
  const auto read_name = [&command, &flags](const std::string& text) {
    if (text.empty()) throw CLI::ValidationError("--on", "no GPU was named; leave it out, or say --on this, for this computer");
    std::tie(flags.gpu, flags.gpus) = count_and_name(text);
    check_no_nodes(flags.gpu, flags.gpus);
    CLI::Option* number = command.get_option("--gpus");
    if (flags.gpus > 1 && number->empty()) number->add_result(std::to_string(flags.gpus));
  };
  command.add_option_function<std::string>("--on", read_name, on)->group(group);
  command
      .add_option_function<int>(
          "--gpus",
          [&flags](const int& count) {
            if (flags.gpus > 1 && flags.gpus != count)
              throw CLI::ValidationError(
                  "--gpus", fmt::format("{} contradicts --on, which names {} x {}", count, flags.gpus, flags.gpu));
            flags.gpus = count;
          },
          gpus)
      ->check(CLI::Range(1, 1 << 20))
      ->default_str("1")
      ->group(group);
}

void add_machine_flags(CLI::App& command, MachineFlags& flags) {
  const std::string group = "Machine";
  add_gpu_options(command, flags,
                  "GPU by name (plimsoll machines lists them), or as many as \"4x RTX 3090\"; default: this computer",
                  "GPUs of this kind; of another stack those that --tp, --pp and --cp leave share the batch", group);
  command.add_option("--machine", flags.machine_file, "a machine described in a JSON file")->group(group);
  command.add_option("--ram", flags.ram, "host memory, e.g. 16GiB")->group(group);
  command.add_option("--ssd", flags.ssd, "SSD capacity[:read,write GB/s][xN][@GB/s shared], e.g. 2TB:3.5,1.7; on this computer, "
                             "how much SSD data may take (rates are measured unless given)")->group(group);
  command
      .add_option("--ssd-folder", flags.ssd_folder,
                  "where SSD data goes on this computer: a folder that can be written, on a local drive with enough room "
                  "(no network, not in memory); default: beside the run file")
      ->group(group);
  command
      .add_flag("--direct-storage", flags.direct_storage,
                "what the device needs passes between it and the SSD without host memory (GPUDirect Storage; runs on a GPU need "
                "NVIDIA's cuFile, plimsoll doctor tells)")
      ->group(group);
  command.add_option("--pcie", flags.pcie, "generation x lanes, e.g. 3x16")->group(group);
  command.add_option("--cpu-cores", flags.cpu_cores, "CPU cores")->group(group);
  command.add_option("--dram-bandwidth", flags.dram_gbs, "GB/s that host memory reaches")->group(group);
  command.add_option("--device-memory", flags.device_memory, "cap on device memory, e.g. 512MiB")->group(group);
  command.add_flag("--desktop", flags.desktop, "the GPU drives a desktop too")->group(group);
  command
      .add_option("--os", flags.os,
                  "linux, wsl2 or windows: what of the GPU's and the host's memory a program can have")
      ->group(group)
      ->capture_default_str();
}

Result<MachineOptions> read_machine_options(const MachineFlags& flags) {
  MachineOptions options;
  options.cpu_cores = flags.cpu_cores;
  options.dram_gbs = flags.dram_gbs;
  options.desktop = flags.desktop;
  options.direct_storage = flags.direct_storage;
  options.gpus = flags.gpus;
  const auto os = parse_operating_system(flags.os);
  if (!os) return fail(os.error());
  options.os = *os;
  const auto ram = read_size_if_given("--ram", flags.ram);
  if (!ram) return fail(ram.error());
  options.ram = *ram;
  const auto device = read_size_if_given("--device-memory", flags.device_memory);
  if (!device) return fail(device.error());
  options.device_memory = *device;
  if (!flags.ssd.empty()) {
    if (const auto ssd = read_ssd(flags.ssd, options); !ssd) return fail(ssd.error());
    options.ssd_together = flags.ssd_together;
  }
  if (!flags.pcie.empty()) {
    if (const auto pcie = read_pcie(flags.pcie, options); !pcie) return fail(pcie.error());
  }
  return options;
}

Result<void> check_one_gpu(const MachineFlags& flags) {
  if (flags.gpus <= 1) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("--gpus {}: a plan of plimsoll's own is for one GPU", flags.gpus),
               .where = {},
               .remedy = "leave it out, or say which program trains on them: --stack pytorch --zero 3; fit --gpus looks for layouts of many"});
}

}  // namespace plimsoll
