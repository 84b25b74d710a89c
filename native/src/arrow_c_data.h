// The structs of the Arrow C data and C stream interfaces, as their ABI lays them out.
// Spec: https://arrow.apache.org/docs/format/CDataInterface.html
//       https://arrow.apache.org/docs/format/CStreamInterface.html
#pragma once

#include <cstdint>

extern "C" {

constexpr int64_t kFlagDictionaryOrdered = 1;
constexpr int64_t kFlagNullable = 2;
constexpr int64_t kFlagMapKeysSorted = 4;

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

}  // extern "C"
