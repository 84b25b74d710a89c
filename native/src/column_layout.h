// In: a format string of the Arrow C data interface. Out: which buffers an array of
// that type has, in order, how long each must be at least and how it must be aligned.
// Spec: https://arrow.apache.org/docs/format/CDataInterface.html#data-type-description-format-strings
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace arrow_scan {

enum class BufferKind : uint8_t {
  kValidity,  // one bit a row; may be null
  kBits,      // one bit a row
  kFixed,     // `width` bytes a row
  kOffsets,   // `width` bytes a row and one more; the last says how much of what follows is used
  kData,      // as many bytes as the offsets before it say
  kViews,     // 16 bytes a row, then any number of data buffers, then their sizes
};

struct BufferRule {
  BufferKind kind;
  int32_t width;
};

// What an array's children must be at least as long as.
enum class ChildRule : uint8_t {
  kNone,        // no children
  kSameLength,  // struct, sparse union: the array's length
  kLastOffset,  // list, map: its last offset
  kMultiple,    // fixed size list: length times list size
  kAny,         // dense union, run-end encoded, list views: their own buffers say
};

struct ColumnLayout {
  std::vector<BufferRule> buffers;
  ChildRule child_rule = ChildRule::kNone;
  int64_t list_size = 0;
  bool has_variadic_buffers = false;
  // -1: any number.
  int64_t n_children = 0;

  // False, with a readable `error`, for a format that this package doesn't know.
  static bool FromFormat(const std::string& format, ColumnLayout* out, std::string* error);
};

// Bytes that `rule` asks for in an array of `length` rows; -1 when that overflows. Not for kData.
int64_t RequiredBytes(const BufferRule& rule, int64_t length);

// Alignment, in bytes, that a reader of the buffer may rely on.
int64_t RequiredAlignment(const BufferRule& rule);

}  // namespace arrow_scan
