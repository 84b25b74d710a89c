// What kernels.js calls: arguments are checked against the sizes of the arrays that they come in, so that no
// call, however wrong, reads outside of them. All functions run on the calling thread and keep nothing.

#include "kernels_addon.h"

#include "kernels.h"
#include "node_api_call.h"

namespace arrow_scan {
namespace {

struct View {
  const uint8_t* data;
  int64_t size;
};

View ToBytes(const Arguments& arguments, size_t position, const char* what) {
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(arguments.env, arguments.values[position], &type, &length, &data, nullptr, nullptr) !=
          napi_ok ||
      type != napi_uint8_array) {
    throw TypeFault{std::string(what) + " must be a Uint8Array"};
  }
  return {static_cast<const uint8_t*>(data), static_cast<int64_t>(length)};
}

// Null, or a bitmap of at least `length` bits.
const uint8_t* ToValidity(const Arguments& arguments, size_t position, int64_t length) {
  napi_valuetype type;
  Check(napi_typeof(arguments.env, arguments.values[position], &type));
  if (type == napi_null || type == napi_undefined) return nullptr;
  const View view = ToBytes(arguments, position, "validity");
  if (view.size < (length + 7) / 8) throw ShapeError("validity is shorter than its values");
  return view.data;
}

int64_t ToNumberAt(const Arguments& arguments, size_t position, const char* what) {
  return ToInteger(arguments.env, arguments.values[position], what);
}

int ToWidth(const Arguments& arguments, size_t position, int smallest, int largest) {
  const int64_t width = ToNumberAt(arguments, position, "width");
  if (width < smallest || width > largest || (width & (width - 1)) != 0) {
    throw ShapeError("width " + std::to_string(width) + " isn't one of these values'");
  }
  return static_cast<int>(width);
}

int64_t ToBigInt(const Arguments& arguments, size_t position, const char* what) {
  int64_t value = 0;
  bool lossless = false;
  if (napi_get_value_bigint_int64(arguments.env, arguments.values[position], &value, &lossless) != napi_ok ||
      !lossless) {
    throw TypeFault{std::string(what) + " must be a bigint of 64 bits"};
  }
  return value;
}

void NeedRoom(const View& view, int64_t length, int width, const char* what) {
  if (length > view.size / width) throw ShapeError(std::string(what) + " are fewer than said");
}

napi_value ToValue(napi_env env, int64_t number) {
  napi_value value;
  Check(napi_create_int64(env, number, &value));
  return value;
}

// findInvalidUtf8(bytes, start, end)
napi_value InvalidUtf8(const Arguments& arguments) {
  const View bytes = ToBytes(arguments, 0, "bytes");
  const int64_t start = ToNumberAt(arguments, 1, "start");
  const int64_t end = ToNumberAt(arguments, 2, "end");
  if (start > end || end > bytes.size) throw ShapeError("[start, end) isn't within the bytes");
  const int64_t bad = FindInvalidUtf8(bytes.data + start, end - start);
  return ToValue(arguments.env, bad < 0 ? -1 : start + bad);
}

// findBadOffset(offsets, width, count, limit)
napi_value BadOffset(const Arguments& arguments) {
  const View offsets = ToBytes(arguments, 0, "offsets");
  const int width = ToWidth(arguments, 1, 4, 8);
  const int64_t count = ToNumberAt(arguments, 2, "count");
  const int64_t limit = ToNumberAt(arguments, 3, "limit");
  NeedRoom(offsets, count, width, "offsets");
  return ToValue(arguments.env, width == 4 ? FindBadOffset32(offsets.data, count, limit)
                                           : FindBadOffset64(offsets.data, count, limit));
}

// findBadText(offsets, width, length, data, validity): -2 where the offsets are wrong.
napi_value BadText(const Arguments& arguments) {
  const View offsets = ToBytes(arguments, 0, "offsets");
  const int width = ToWidth(arguments, 1, 4, 8);
  const int64_t length = ToNumberAt(arguments, 2, "length");
  const View data = ToBytes(arguments, 3, "data");
  if (length == 0) return ToValue(arguments.env, -1);
  NeedRoom(offsets, length + 1, width, "offsets");
  const uint8_t* validity = ToValidity(arguments, 4, length);
  const int64_t bad_offset = width == 4 ? FindBadOffset32(offsets.data, length + 1, data.size)
                                        : FindBadOffset64(offsets.data, length + 1, data.size);
  if (bad_offset >= 0) return ToValue(arguments.env, -2);
  return ToValue(arguments.env, FindBadText(offsets.data, width, length, data.data, validity));
}

// findOutside(values, width, length, from, min, max, validity)
napi_value Outside(const Arguments& arguments) {
  const View values = ToBytes(arguments, 0, "values");
  const int width = ToWidth(arguments, 1, 1, 8);
  const int64_t length = ToNumberAt(arguments, 2, "length");
  const int64_t from = ToNumberAt(arguments, 3, "from");
  const int64_t min = ToBigInt(arguments, 4, "min");
  const int64_t max = ToBigInt(arguments, 5, "max");
  NeedRoom(values, length, width, "values");
  const uint8_t* validity = ToValidity(arguments, 6, length);
  return ToValue(arguments.env, FindOutside(values.data, width, length, from, min, max, validity));
}

// findLongDecimal(values, width, length, from, precision, validity)
napi_value LongDecimal(const Arguments& arguments) {
  const View values = ToBytes(arguments, 0, "values");
  const int width = ToWidth(arguments, 1, 4, 32);
  const int64_t length = ToNumberAt(arguments, 2, "length");
  const int64_t from = ToNumberAt(arguments, 3, "from");
  const int64_t precision = ToNumberAt(arguments, 4, "precision");
  if (precision < 1 || precision > 76) throw ShapeError("precision " + std::to_string(precision) + " isn't in [1, 76]");
  NeedRoom(values, length, width, "values");
  const uint8_t* validity = ToValidity(arguments, 5, length);
  return ToValue(arguments.env,
                 FindLongDecimal(values.data, width, length, from, static_cast<int>(precision), validity));
}

}  // namespace

void ExportKernels(napi_env env, napi_value exports) {
  Export(env, exports, "findInvalidUtf8", Call<InvalidUtf8>);
  Export(env, exports, "findBadOffset", Call<BadOffset>);
  Export(env, exports, "findBadText", Call<BadText>);
  Export(env, exports, "findOutside", Call<Outside>);
  Export(env, exports, "findLongDecimal", Call<LongDecimal>);
}

}  // namespace arrow_scan
