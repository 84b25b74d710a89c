#include "column_layout.h"

#include <cstdlib>
#include <cstring>

namespace arrow_scan {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 53;

bool StartsWith(const std::string& text, const char* prefix) {
  return text.compare(0, std::strlen(prefix), prefix) == 0;
}

// The number after the last separator, or -1.
int64_t NumberAfter(const std::string& format, size_t position) {
  if (position >= format.size()) return -1;
  char* end = nullptr;
  const long long value = std::strtoll(format.c_str() + position, &end, 10);
  if (end == format.c_str() + position || *end != '\0' || value < 0) return -1;
  return value;
}

// Width in bytes of "d:precision,scale[,bits]"; bits are 128 when not given.
int32_t DecimalWidth(const std::string& format) {
  const size_t first = format.find(',');
  if (first == std::string::npos) return -1;
  const size_t second = format.find(',', first + 1);
  if (second == std::string::npos) return 16;
  const int64_t bits = NumberAfter(format, second + 1);
  return bits == 32 || bits == 64 || bits == 128 || bits == 256 ? static_cast<int32_t>(bits / 8) : -1;
}

// Width in bytes of the one-letter and "t…" formats; 0: not one of them.
int32_t PrimitiveWidth(const std::string& format) {
  if (format.size() == 1) {
    const char letter = format[0];
    if (std::strchr("cC", letter) != nullptr) return 1;
    if (std::strchr("sSe", letter) != nullptr) return 2;
    if (std::strchr("iIf", letter) != nullptr) return 4;
    return std::strchr("lLg", letter) != nullptr ? 8 : 0;
  }
  if (format == "tdD" || format == "tts" || format == "ttm" || format == "tiM") return 4;
  if (format == "tdm" || format == "ttu" || format == "ttn" || format == "tiD") return 8;
  if (format == "tin") return 16;
  if (StartsWith(format, "tss:") || StartsWith(format, "tsm:") || StartsWith(format, "tsu:") ||
      StartsWith(format, "tsn:")) {
    return 8;
  }
  if (format == "tDs" || format == "tDm" || format == "tDu" || format == "tDn") return 8;
  return 0;
}

}  // namespace

bool ColumnLayout::FromFormat(const std::string& format, ColumnLayout* out, std::string* error) {
  const BufferRule validity{BufferKind::kValidity, 0};
  ColumnLayout layout;
  if (const int32_t width = PrimitiveWidth(format)) {
    layout.buffers = {validity, {BufferKind::kFixed, width}};
  } else if (format == "n") {
    // No buffers at all.
  } else if (format == "b") {
    layout.buffers = {validity, {BufferKind::kBits, 0}};
  } else if (format == "u" || format == "z") {
    layout.buffers = {validity, {BufferKind::kOffsets, 4}, {BufferKind::kData, 1}};
  } else if (format == "U" || format == "Z") {
    layout.buffers = {validity, {BufferKind::kOffsets, 8}, {BufferKind::kData, 1}};
  } else if (format == "vu" || format == "vz") {
    layout.buffers = {validity, {BufferKind::kViews, 16}};
    layout.has_variadic_buffers = true;
  } else if (StartsWith(format, "w:")) {
    const int64_t width = NumberAfter(format, 2);
    if (width < 0 || width > INT32_MAX) {
      *error = "fixed size binary format '" + format + "' has no byte width";
      return false;
    }
    layout.buffers = {validity, {BufferKind::kFixed, static_cast<int32_t>(width)}};
  } else if (StartsWith(format, "d:")) {
    const int32_t width = DecimalWidth(format);
    if (width < 0) {
      *error = "decimal format '" + format + "' isn't d:precision,scale[,32|64|128|256]";
      return false;
    }
    layout.buffers = {validity, {BufferKind::kFixed, width}};
  } else if (format == "+l" || format == "+m") {
    layout.buffers = {validity, {BufferKind::kOffsets, 4}};
    layout.child_rule = ChildRule::kLastOffset;
    layout.n_children = 1;
  } else if (format == "+L") {
    layout.buffers = {validity, {BufferKind::kOffsets, 8}};
    layout.child_rule = ChildRule::kLastOffset;
    layout.n_children = 1;
  } else if (format == "+vl" || format == "+vL") {
    const int32_t width = format == "+vl" ? 4 : 8;
    layout.buffers = {validity, {BufferKind::kFixed, width}, {BufferKind::kFixed, width}};
    layout.child_rule = ChildRule::kAny;
    layout.n_children = 1;
  } else if (StartsWith(format, "+w:")) {
    layout.list_size = NumberAfter(format, 3);
    if (layout.list_size < 0 || layout.list_size > INT32_MAX) {
      *error = "fixed size list format '" + format + "' has no list size";
      return false;
    }
    layout.buffers = {validity};
    layout.child_rule = ChildRule::kMultiple;
    layout.n_children = 1;
  } else if (format == "+s") {
    layout.buffers = {validity};
    layout.child_rule = ChildRule::kSameLength;
    layout.n_children = -1;
  } else if (StartsWith(format, "+us:")) {
    layout.buffers = {{BufferKind::kFixed, 1}};
    layout.child_rule = ChildRule::kSameLength;
    layout.n_children = -1;
  } else if (StartsWith(format, "+ud:")) {
    layout.buffers = {{BufferKind::kFixed, 1}, {BufferKind::kFixed, 4}};
    layout.child_rule = ChildRule::kAny;
    layout.n_children = -1;
  } else if (format == "+r") {
    layout.child_rule = ChildRule::kAny;
    layout.n_children = 2;
  } else {
    *error = "format '" + format + "' is unknown";
    return false;
  }
  *out = std::move(layout);
  return true;
}

int64_t RequiredBytes(const BufferRule& rule, int64_t length) {
  if (length > kMaxLength) return -1;
  int64_t bytes = 0;
  switch (rule.kind) {
    case BufferKind::kValidity:
    case BufferKind::kBits: return (length + 7) / 8;
    case BufferKind::kOffsets:
      // An empty array may leave out its single offset.
      if (length == 0) return 0;
      return (length + 1) * rule.width;
    case BufferKind::kFixed:
    case BufferKind::kViews:
      if (__builtin_mul_overflow(length, static_cast<int64_t>(rule.width), &bytes)) return -1;
      return bytes;
    case BufferKind::kData: return 0;
  }
  return -1;
}

int64_t RequiredAlignment(const BufferRule& rule) {
  if (rule.kind == BufferKind::kViews) return 8;
  if (rule.kind != BufferKind::kFixed && rule.kind != BufferKind::kOffsets) return 1;
  // A fixed size binary may be of any width; decimals and intervals are read as 64-bit words.
  if (rule.width % 8 == 0 && rule.width > 0) return 8;
  return rule.width == 2 || rule.width == 4 ? rule.width : 1;
}

}  // namespace arrow_scan
