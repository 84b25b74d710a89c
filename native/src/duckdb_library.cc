#include "duckdb_library.h"

#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <vector>

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#else
#include <link.h>
#endif

namespace arrow_scan {
namespace {

bool IsDuckDB(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash == nullptr ? path : slash + 1, "libduckdb.", 10) == 0;
}

// Paths of all libraries in this process that are called libduckdb.
std::vector<std::string> LoadedDuckDBs() {
  std::vector<std::string> paths;
#if defined(__APPLE__)
  for (uint32_t i = 0; i < _dyld_image_count(); i++) {
    const char* path = _dyld_get_image_name(i);
    if (path != nullptr && IsDuckDB(path)) paths.emplace_back(path);
  }
#else
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        if (info->dlpi_name != nullptr && IsDuckDB(info->dlpi_name)) {
          static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &paths);
#endif
  return paths;
}

template <typename Function>
bool Resolve(void* library, const char* name, Function* out, std::string* error) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    *error = std::string("has no function ") + name;
    return false;
  }
  std::memcpy(out, &symbol, sizeof(symbol));
  return true;
}

}  // namespace

bool DuckDBLibrary::Find(const DuckDBLibrary** out, std::string* error) {
  static std::mutex mutex;
  static DuckDBLibrary* found = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (found == nullptr) {
    auto* library = new DuckDBLibrary();
    if (!library->Load(error)) {
      delete library;
      return false;
    }
    found = library;
  }
  *out = found;
  return true;
}

bool DuckDBLibrary::Load(std::string* error) {
  const std::vector<std::string> paths = LoadedDuckDBs();
  if (paths.empty()) {
    *error = "libduckdb isn't loaded in this process: import @duckdb/node-api first";
    return false;
  }
  if (paths.size() > 1) {
    // Which of them made a connection can't be told from its pointer.
    *error = "more than one libduckdb is loaded in this process: " + paths[0] + " and " + paths[1];
    return false;
  }
  path_ = paths[0];
  // NODELETE: batches are released by code of ours that its threads call, also after a worker's end.
  void* library = dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    *error = path_ + " can't be opened: " + (reason == nullptr ? "it was unloaded" : reason);
    return false;
  }
  if (!Resolve(library, "duckdb_arrow_scan", &arrow_scan_, error) ||
      !Resolve(library, "duckdb_schema_from_arrow", &schema_from_arrow_, error) ||
      !Resolve(library, "duckdb_destroy_arrow_converted_schema", &destroy_converted_schema_, error) ||
      !Resolve(library, "duckdb_error_data_message", &error_message_, error) ||
      !Resolve(library, "duckdb_error_data_has_error", &error_has_error_, error) ||
      !Resolve(library, "duckdb_destroy_error_data", &destroy_error_, error)) {
    *error = path_ + " " + *error + "; DuckDB 1.4 or newer is needed";
    return false;
  }
  return true;
}

bool DuckDBLibrary::ArrowScan(DuckDBConnection connection, const char* name, ArrowArrayStream* stream) const {
  return arrow_scan_(connection, name, stream) == 0;
}

std::string DuckDBLibrary::SchemaError(DuckDBConnection connection, ArrowSchema* schema) const {
  void* converted = nullptr;
  void* error = schema_from_arrow_(connection, schema, &converted);
  std::string text;
  if (error != nullptr) {
    if (error_has_error_(error)) {
      const char* message = error_message_(error);
      text = message == nullptr || *message == '\0' ? "no reason given" : message;
    }
    destroy_error_(&error);
  }
  if (converted != nullptr) destroy_converted_schema_(&converted);
  return text;
}

}  // namespace arrow_scan
