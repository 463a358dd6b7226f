#include "cli/inputs/own_drive.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/inputs/probe_cache.h"
#include "cli/print/waiting_line.h"
#include "executor/tiers/drive_folder.h"
#include "executor/tiers/drive_rates.h"
#include "formats/machines/platform_parts.h"
#include "profiler/probe/this_computer.h"
#include "session/probe/measured_parts.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr Bytes kMostTried = kGiB;  ///< of a drive, before a run, and of what of it is free half: a fraction of a second of a fast one

Result<void> check(const MachineOptions& options) {
  const auto refuse = [](std::string what, std::string remedy) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--ssd", .remedy = std::move(remedy)});
  };
  if (*options.ssd <= Bytes(0)) return refuse("a drive's size must be positive", "give what may be used, e.g. 200GB");
  if (options.ssd_count != 1) return refuse("on this computer data goes to one folder", "leave xN out");
  const auto positive = [](std::optional<double> rate) { return !rate || *rate > 0; };
  if (positive(options.ssd_read_gbs) && positive(options.ssd_write_gbs)) return {};
  return refuse("a drive's rates must be positive", "leave them out to have them measured");
}

bool is_of_folder(const MachineProbe* probe, const std::string& folder) {
  std::error_code ignored;  // a folder that is gone is no longer this one
  return probe != nullptr && probe->drive && std::filesystem::equivalent(probe->drive->folder, folder, ignored);
}

/// As they were measured, of `rates` that a probe or a trial found.
template <typename Rates>
std::string rates_text(const Rates& rates) {
  return fmt::format("{:.2f} GB/s read, {:.2f} written, {:.2f} and {:.2f} at once", rates.read.median / kGiga, rates.write.median / kGiga,
                     rates.mixed_read.median / kGiga, rates.mixed_write.median / kGiga);
}

/// With the rates that were said, that a probe measured, or that are measured now.
Result<AttachedDrive> with_rates(AttachedDrive drive, const MachineOptions& options, const MachineProbe* probe,
                                 const std::string& folder, std::vector<std::string>& notes) {
  if (options.ssd_read_gbs && options.ssd_write_gbs) {
    drive.read_bytes_per_second = *options.ssd_read_gbs * kGiga;
    drive.write_bytes_per_second = *options.ssd_write_gbs * kGiga;
    return drive;
  }
  if (is_of_folder(probe, folder)) {
    AttachedDrive probed = attached(*probe->drive);
    probed.usable = drive.usable;
    probed.reaches_device = drive.reaches_device;
    notes.push_back(fmt::format("SSD in {}: {}, measured by plimsoll machines --probe on {}", folder, rates_text(*probe->drive), probe->date));
    return probed;
  }
  const WaitingLine waiting("measuring the drive");
  const Bytes span = std::clamp(Bytes(drive.usable.count / 2), DriveTrial{}.span, kMostTried);
  const auto rates = measure_drive_rates({.folder = folder}, {.span = span, .mixed = true});
  if (!rates) return fail(rates.error());
  const DriveSpeeds speeds = drive_speeds(rates->read.median, rates->write.median, rates->mixed_read.median, rates->mixed_write.median);
  drive.read_bytes_per_second = speeds.read;
  drive.write_bytes_per_second = speeds.write;
  drive.together = speeds.together;
  notes.push_back(fmt::format("SSD in {}: {}, measured over {} by {}", folder, rates_text(*rates), to_text(rates->measured), rates->way));
  return drive;
}

}  // namespace

Result<std::optional<AttachedDrive>> find_own_drive(const MachineFlags& flags, const MachineOptions& options,
                                                    const MachineProbe* probe, std::vector<std::string>& notes) {
  if (!options.ssd && options.direct_storage) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "direct storage is a way from a drive to the device, and there is no drive",
                 .where = "--direct-storage",
                 .remedy = "say how much of this computer's drive may be used: --ssd SIZE"});
  }
  if (!options.ssd) return std::nullopt;
  if (const auto sound = check(options); !sound) return fail(sound.error());
  const std::string folder = flags.ssd_folder.empty() ? "." : flags.ssd_folder;
  const auto system = check_drive_folder(folder);
  if (!system) return fail(system.error());
  AttachedDrive drive{.usable = std::min(*options.ssd, system->free), .reaches_device = options.direct_storage};
  if (drive.usable < *options.ssd) {
    notes.push_back(fmt::format("{} free for SSD data in {}", to_text(system->free), folder));
  }
  if (const auto warning = system->warning(); !warning.empty()) {
    notes.push_back(fmt::format("{}: {} {}", folder, system->name, warning));
  }
  auto rated = with_rates(std::move(drive), options, probe, folder, notes);
  if (!rated) return fail(rated.error());
  return *std::move(rated);
}

Result<MachineFlags> with_own_drive(MachineFlags flags, std::vector<std::string>& notes) {
  const auto options = read_machine_options(flags);
  if (!options) return fail(options.error());
  const KnownProbe known = find_probe(probe_this_computer());
  const auto drive = find_own_drive(flags, *options, known.probe ? &*known.probe : nullptr, notes);
  if (!drive) return fail(drive.error());
  if (!*drive) return flags;
  flags.ssd = fmt::format("{}MiB:{:.4g},{:.4g}", (*drive)->usable.count / kMiB.count, (*drive)->read_bytes_per_second / kGiga,
                          (*drive)->write_bytes_per_second / kGiga);
  flags.ssd_together = (*drive)->together;
  return flags;
}

}  // namespace plimsoll
