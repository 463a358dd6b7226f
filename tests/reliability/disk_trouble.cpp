// Preloaded before the program (LD_PRELOAD), it stands between it and one folder's files: it counts what changes them
// and, at the operation it was told, kills the process, fails with EIO, or lets the disk be full from then on. For a
// loss of power it keeps beside the folder what a disk would be sure to have: the contents of every file at its last
// fsync, and the folder's names at its last. power_loss.h makes of that what a disk may hold afterwards.
//
// PLIMSOLL_TROUBLE_FOLDER, PLIMSOLL_TROUBLE_LOG: both on one file system. PLIMSOLL_TROUBLE: "kill:N", "power:N",
// "eio:N", "enospc:N", "edquot:N", "count", or "deaf:N": the power goes, on a disk that never wrote what it was told to
// sync.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace {

enum class Sort { kMakes, kGrows, kOther };

thread_local bool inside = false;  // the shim's own calls pass

struct Inside {
  bool before = std::exchange(inside, true);
  ~Inside() { inside = before; }
};

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct Trouble {
  std::recursive_mutex mutex;
  std::string folder, log, kind;
  long at = 0;
  long count = 0;
  bool deaf = false;

  Trouble() {
    const Inside guard;
    const auto text = [](const char* name) { return std::string(std::getenv(name) == nullptr ? "" : std::getenv(name)); };
    folder = text("PLIMSOLL_TROUBLE_FOLDER");
    log = text("PLIMSOLL_TROUBLE_LOG");
    kind = text("PLIMSOLL_TROUBLE");
    if (const auto colon = kind.find(':'); colon != std::string::npos) {
      at = std::atol(kind.c_str() + colon + 1);
      kind.resize(colon);
    }
    deaf = kind == "deaf";
    if (deaf) kind = "power";
    if (kind == "power") keep_all();
  }

  ~Trouble() {
    const Inside guard;
    if (folder.empty()) return;
    if (std::FILE* file = std::fopen((log + "/count").c_str(), "w")) {
      std::fprintf(file, "%ld\n", count);
      std::fclose(file);
    }
  }

  [[nodiscard]] bool watches(const std::string& path) const {
    return !folder.empty() && path.size() > folder.size() && path.starts_with(folder + "/");
  }

  /// What was there before the program began is on the disk.
  void keep_all() {
    DIR* open = ::opendir(folder.c_str());
    while (const dirent* entry = open == nullptr ? nullptr : ::readdir(open)) {
      const std::string path = folder + "/" + entry->d_name;
      struct stat found {};
      if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
      keep_name(path);
      keep_contents(path, found.st_ino);
    }
    if (open != nullptr) ::closedir(open);
    keep_names();
  }

  /// A second name keeps the file, and its number, when the program removes it.
  void keep_name(const std::string& path) const {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0) {
      ::link(path.c_str(), (log + "/live-" + std::to_string(found.st_ino)).c_str());
    }
  }

  void keep_contents(const std::string& path, ino_t number) const {
    const int from = ::open(path.c_str(), O_RDONLY);
    const std::string kept = log + "/synced-" + std::to_string(number);
    const int to = ::open(kept.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char buffer[1 << 16];
    for (ssize_t got = ::read(from, buffer, sizeof(buffer)); got > 0; got = ::read(from, buffer, sizeof(buffer))) {
      if (::write(to, buffer, static_cast<std::size_t>(got)) != got) std::abort();
    }
    ::close(from);
    ::close(to);
  }

  void keep_names() const {
    std::FILE* file = std::fopen((log + "/names.new").c_str(), "w");
    DIR* open = ::opendir(folder.c_str());
    while (const dirent* entry = open == nullptr ? nullptr : ::readdir(open)) {
      struct stat found {};
      if (::stat((folder + "/" + entry->d_name).c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
      std::fprintf(file, "%lu %s\n", static_cast<unsigned long>(found.st_ino), entry->d_name);
    }
    if (open != nullptr) ::closedir(open);
    std::fclose(file);
    std::rename((log + "/names.new").c_str(), (log + "/names").c_str());
  }

  [[noreturn]] static void die() {
    ::kill(::getpid(), SIGKILL);
    while (true) ::pause();
  }

  /// What becomes of an operation: 0, or the errno that it fails with.
  int next(Sort sort) {
    ++count;
    if (kind == "enospc" && count >= at && sort != Sort::kOther) return ENOSPC;
    if (kind == "edquot" && count >= at && sort != Sort::kOther) return EDQUOT;
    if (kind == "eio" && count == at) return EIO;
    if ((kind == "kill" || kind == "power") && count == at && count % 2 == 0) die();  // before it happens
    return 0;
  }

  void after() const {
    if ((kind == "kill" || kind == "power") && count >= at) die();  // the other half: after it happened
  }
};

Trouble& trouble() {
  static Trouble one;
  return one;
}

/// Makes the trouble before main, so that its snapshot is of the beginning.
[[gnu::constructor]] void begin() { trouble(); }

std::string path_of(int descriptor) {
  char text[4096];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), text, sizeof(text));
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

std::string whole_path(const char* path) {
  if (path[0] == '/') return path;
  char here[4096];
  return ::getcwd(here, sizeof(here)) == nullptr ? std::string(path) : std::string(here) + "/" + path;
}

/// Does `work` on the watched file `path` under the trouble.
template <typename Work, typename Done>
auto watched(const std::string& path, Sort sort, const Work& work, const Done& done) -> decltype(work()) {
  Trouble& one = trouble();
  const Inside guard;
  if (!one.watches(path)) return work();
  const std::scoped_lock lock(one.mutex);
  if (const int problem = one.next(sort); problem != 0) {
    errno = problem;
    return -1;
  }
  const auto answer = work();
  const int problem = errno;
  if (answer >= 0) done(one);
  one.after();
  errno = problem;
  return answer;
}

constexpr auto kNothing = [](Trouble&) {};

int open_at(int folder, const char* path, int flags, mode_t mode) {
  const auto work = [&] { return real<int(int, const char*, int, mode_t)>("openat")(folder, path, flags, mode); };
  const bool makes = (flags & O_CREAT) != 0 && ::access(path, F_OK) != 0;
  if (inside || folder != AT_FDCWD || (flags & O_ACCMODE) == O_RDONLY || (flags & O_TMPFILE) == O_TMPFILE) return work();
  const std::string whole = whole_path(path);
  if (!makes && (flags & O_TRUNC) == 0) return work();
  return watched(whole, makes ? Sort::kMakes : Sort::kOther, work, [&](Trouble& one) {
    if (makes && one.kind == "power") one.keep_name(whole);
  });
}

template <typename Work>
ssize_t write_at(int descriptor, off_t end, const Work& work) {
  if (inside) return work();
  const std::string path = path_of(descriptor);
  if (!trouble().watches(path)) return work();
  struct stat found {};
  ::fstat(descriptor, &found);
  return watched(path, end > found.st_size ? Sort::kGrows : Sort::kOther, work, kNothing);
}

template <typename Work>
int sync_it(int descriptor, const Work& work) {
  if (inside) return work();
  const std::string path = path_of(descriptor);
  const bool of_folder = path == trouble().folder;
  return watched(of_folder ? path + "/." : path, Sort::kOther, work, [&](Trouble& one) {
    if (one.kind != "power" || one.deaf) return;
    struct stat found {};
    if (of_folder) return one.keep_names();
    if (::fstat(descriptor, &found) == 0) one.keep_contents(path, found.st_ino);
  });
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_at(AT_FDCWD, path, flags, mode);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  const auto work = [&] { return real<ssize_t(int, const void*, size_t)>("write")(descriptor, data, size); };
  const off_t at = inside ? 0 : ::lseek(descriptor, 0, SEEK_CUR);
  return write_at(descriptor, at + static_cast<off_t>(size), work);
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t at) {
  return write_at(descriptor, at + static_cast<off_t>(size),
                  [&] { return real<ssize_t(int, const void*, size_t, off_t)>("pwrite")(descriptor, data, size, at); });
}

ssize_t pwrite64(int descriptor, const void* data, size_t size, off_t at) {
  return write_at(descriptor, at + static_cast<off_t>(size),
                  [&] { return real<ssize_t(int, const void*, size_t, off_t)>("pwrite64")(descriptor, data, size, at); });
}

int fsync(int descriptor) {
  return sync_it(descriptor, [&] { return real<int(int)>("fsync")(descriptor); });
}

int fdatasync(int descriptor) {
  return sync_it(descriptor, [&] { return real<int(int)>("fdatasync")(descriptor); });
}

int ftruncate(int descriptor, off_t size) noexcept {
  const auto work = [&] { return real<int(int, off_t)>("ftruncate")(descriptor, size); };
  return inside ? work() : watched(path_of(descriptor), Sort::kOther, work, kNothing);
}

int ftruncate64(int descriptor, off_t size) noexcept {
  const auto work = [&] { return real<int(int, off_t)>("ftruncate64")(descriptor, size); };
  return inside ? work() : watched(path_of(descriptor), Sort::kOther, work, kNothing);
}

int rename(const char* from, const char* to) noexcept {
  const auto work = [&] { return real<int(const char*, const char*)>("rename")(from, to); };
  return inside ? work() : watched(whole_path(to), Sort::kOther, work, kNothing);
}

int link(const char* from, const char* to) noexcept {
  const auto work = [&] { return real<int(const char*, const char*)>("link")(from, to); };
  return inside ? work() : watched(whole_path(to), Sort::kMakes, work, kNothing);
}

int unlink(const char* path) noexcept {
  const auto work = [&] { return real<int(const char*)>("unlink")(path); };
  return inside ? work() : watched(whole_path(path), Sort::kOther, work, kNothing);
}

int remove(const char* path) noexcept {
  const auto work = [&] { return real<int(const char*)>("remove")(path); };
  return inside ? work() : watched(whole_path(path), Sort::kOther, work, kNothing);
}

}  // extern "C"
