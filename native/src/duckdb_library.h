// The libduckdb that is already in this process, and the three C functions we need of it.
#pragma once

#include <string>

#include "arrow_c_data.h"

namespace arrow_scan {

// Opaque: what the N-API External of @duckdb/node-bindings holds.
using DuckDBConnection = void*;

class DuckDBLibrary {
 public:
  // Finds the library that @duckdb/node-bindings loaded. False, with a readable `error`, when there is
  // none, more than one, or one without the functions. Looks once it succeeded no more. Any thread.
  static bool Find(const DuckDBLibrary** out, std::string* error);

  const std::string& path() const { return path_; }

  // Creates or replaces the view `name`. The stream stays the caller's (T1, T5). Blocks while the connection
  // runs a statement. True on success; DuckDB gives no text on failure.
  bool ArrowScan(DuckDBConnection connection, const char* name, ArrowArrayStream* stream) const;

  // DuckDB's text about a schema that it refuses; empty when it takes it. The schema stays the caller's.
  std::string SchemaError(DuckDBConnection connection, ArrowSchema* schema) const;

 private:
  bool Load(std::string* error);

  std::string path_;
  int (*arrow_scan_)(DuckDBConnection, const char*, ArrowArrayStream*) = nullptr;
  void* (*schema_from_arrow_)(DuckDBConnection, ArrowSchema*, void**) = nullptr;
  void (*destroy_converted_schema_)(void**) = nullptr;
  const char* (*error_message_)(void*) = nullptr;
  bool (*error_has_error_)(void*) = nullptr;
  void (*destroy_error_)(void**) = nullptr;
};

}  // namespace arrow_scan
