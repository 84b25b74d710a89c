#include "kernels.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace arrow_scan {
namespace {

template <typename T>
T LoadAt(const uint8_t* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

bool IsValidAt(const uint8_t* validity, int64_t index) {
  return validity == nullptr || ((validity[index >> 3] >> (index & 7)) & 1) != 0;
}

bool IsContinuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// --- UTF-8 ----------------------------------------------------------------------------------------------

// Bytes of the well-formed sequence at `data`, or 0.
int64_t SequenceLength(const uint8_t* data, int64_t size) {
  const uint8_t lead = data[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return size >= 2 && IsContinuation(data[1]) ? 2 : 0;
  if (lead < 0xF0) {
    if (size < 3 || !IsContinuation(data[1]) || !IsContinuation(data[2])) return 0;
    // Overlong forms; surrogates.
    if ((lead == 0xE0 && data[1] < 0xA0) || (lead == 0xED && data[1] >= 0xA0)) return 0;
    return 3;
  }
  if (lead > 0xF4 || size < 4 || !IsContinuation(data[1]) || !IsContinuation(data[2]) || !IsContinuation(data[3])) {
    return 0;
  }
  // Overlong forms; beyond U+10FFFF.
  if ((lead == 0xF0 && data[1] < 0x90) || (lead == 0xF4 && data[1] >= 0x90)) return 0;
  return 4;
}

int64_t FindInvalidUtf8Scalar(const uint8_t* data, int64_t at, int64_t size) {
  while (at < size) {
    if (data[at] < 0x80) {
      at++;
      while (size - at >= 8 && (LoadAt<uint64_t>(data + at, 0) & 0x8080808080808080U) == 0) at += 8;
      continue;
    }
    const int64_t length = SequenceLength(data + at, size - at);
    if (length == 0) return at;
    at += length;
  }
  return -1;
}

#if defined(__x86_64__)

// The lookup method of J. Keiser and D. Lemire, "Validating UTF-8 in less than one instruction per byte"
// (https://arxiv.org/abs/2010.03090): three tables, by the two nibbles of a byte and the high nibble of the
// next one, give the errors that each could be part of; their AND, those that it is.
constexpr char kTooShort = 1 << 0;      // a lead byte without its continuation
constexpr char kTooLong = 1 << 1;       // a continuation after ASCII
constexpr char kOverlong3 = 1 << 2;     // E0 80..9F
constexpr char kTooLarge = 1 << 3;      // F4 90..BF, F5 and more
constexpr char kSurrogate = 1 << 4;     // ED A0..BF
constexpr char kOverlong2 = 1 << 5;     // C0, C1
constexpr char kTooLarge1000 = 1 << 6;  // F5 80..8F and more
constexpr char kOverlong4 = 1 << 6;     // F0 80..8F
constexpr char kTwoContinuations = static_cast<char>(1 << 7);
constexpr char kCarry = kTooShort | kTooLong | kTwoContinuations;

#define ARROW_SCAN_SSSE3 __attribute__((target("ssse3")))

// Marks, in the high bits, bytes of `input` that are wrong after the 16 bytes of `previous`.
ARROW_SCAN_SSSE3 inline __m128i Utf8Errors(__m128i input, __m128i previous) {
  const __m128i nibble = _mm_set1_epi8(0x0F);
  const __m128i first_high =
      _mm_setr_epi8(kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTwoContinuations,
                    kTwoContinuations, kTwoContinuations, kTwoContinuations, kTooShort | kOverlong2, kTooShort,
                    kTooShort | kOverlong3 | kSurrogate, kTooShort | kTooLarge | kTooLarge1000 | kOverlong4);
  constexpr char kLarge = kCarry | kTooLarge | kTooLarge1000;
  const __m128i first_low = _mm_setr_epi8(kCarry | kOverlong3 | kOverlong2 | kOverlong4, kCarry | kOverlong2, kCarry,
                                          kCarry, kCarry | kTooLarge, kLarge, kLarge, kLarge, kLarge, kLarge, kLarge,
                                          kLarge, kLarge, kLarge | kSurrogate, kLarge, kLarge);
  constexpr char kAfter = kTooLong | kOverlong2 | kTwoContinuations;
  const __m128i second_high = _mm_setr_epi8(
      kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort,
      kAfter | kOverlong3 | kTooLarge1000 | kOverlong4, kAfter | kOverlong3 | kTooLarge,
      kAfter | kSurrogate | kTooLarge, kAfter | kSurrogate | kTooLarge, kTooShort, kTooShort, kTooShort, kTooShort);
  const __m128i one_before = _mm_alignr_epi8(input, previous, 15);
  const __m128i special =
      _mm_and_si128(_mm_and_si128(_mm_shuffle_epi8(first_high, _mm_and_si128(_mm_srli_epi16(one_before, 4), nibble)),
                                  _mm_shuffle_epi8(first_low, _mm_and_si128(one_before, nibble))),
                    _mm_shuffle_epi8(second_high, _mm_and_si128(_mm_srli_epi16(input, 4), nibble)));
  // Third and fourth bytes must be continuations after continuations; nothing else may be.
  const __m128i two_before = _mm_alignr_epi8(input, previous, 14);
  const __m128i three_before = _mm_alignr_epi8(input, previous, 13);
  const __m128i third = _mm_subs_epu8(two_before, _mm_set1_epi8(0xE0 - 0x80));
  const __m128i fourth = _mm_subs_epu8(three_before, _mm_set1_epi8(static_cast<char>(0xF0 - 0x80)));
  const __m128i must = _mm_and_si128(_mm_or_si128(third, fourth), _mm_set1_epi8(static_cast<char>(0x80)));
  return _mm_xor_si128(must, special);
}

// Not zero where the 16 bytes end inside a sequence.
ARROW_SCAN_SSSE3 inline __m128i Utf8Incomplete(__m128i input) {
  const char any = static_cast<char>(0xFF);
  return _mm_subs_epu8(
      input, _mm_setr_epi8(any, any, any, any, any, any, any, any, any, any, any, any, any, static_cast<char>(0xF0 - 1),
                           static_cast<char>(0xE0 - 1), static_cast<char>(0xC0 - 1)));
}

// Bytes from the start that are known to be right; the rest is for the scalar loop. Ends at most 3 bytes
// after the start of a sequence that isn't whole yet.
ARROW_SCAN_SSSE3 int64_t SkipValidUtf8(const uint8_t* data, int64_t size) {
  const __m128i zero = _mm_setzero_si128();
  __m128i previous = zero;
  int64_t at = 0;
  for (; size - at >= 64; at += 64) {
    const auto* block = reinterpret_cast<const __m128i*>(data + at);
    const __m128i a = _mm_loadu_si128(block);
    const __m128i b = _mm_loadu_si128(block + 1);
    const __m128i c = _mm_loadu_si128(block + 2);
    const __m128i d = _mm_loadu_si128(block + 3);
    __m128i errors;
    if (_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))) == 0) {
      errors = Utf8Incomplete(previous);
    } else {
      errors = _mm_or_si128(_mm_or_si128(Utf8Errors(a, previous), Utf8Errors(b, a)),
                            _mm_or_si128(Utf8Errors(c, b), Utf8Errors(d, c)));
    }
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(errors, zero)) != 0xFFFF) break;
    previous = d;
  }
  // Back to where the last sequence begins: it may go on in what wasn't looked at.
  for (int back = 0; back < 3 && at > 0 && IsContinuation(data[at - 1]); back++) at--;
  return at > 0 && data[at - 1] >= 0xC0 ? at - 1 : at;
}

#endif

// --- Integers and decimals ------------------------------------------------------------------------------

// Values looked at together, without a branch; a block with one out of line is looked at value by value.
constexpr int64_t kBlock = 1024;

template <typename T>
int64_t FindOutsideOf(const uint8_t* values, int64_t length, int64_t from, int64_t min64, int64_t max64,
                      const uint8_t* validity) {
  // A limit beyond the type is no limit.
  constexpr T lowest = static_cast<T>(int64_t{1} << (sizeof(T) * 8 - 1));
  constexpr T highest = static_cast<T>(~lowest);
  if (min64 > highest || max64 < lowest || min64 > max64) {
    for (int64_t i = from; i < length; i++) {
      if (IsValidAt(validity, i)) return i;
    }
    return -1;
  }
  const T min = min64 < lowest ? lowest : static_cast<T>(min64);
  const T max = max64 > highest ? highest : static_cast<T>(max64);
  int64_t end = from;
  for (int64_t start = from; start < length; start = end) {
    end = length - start < kBlock ? length : start + kBlock;
    uint64_t outside = 0;
    for (int64_t i = start; i < end; i++) {
      const T value = LoadAt<T>(values, i);
      outside |= static_cast<uint64_t>((value < min) | (value > max));
    }
    if (outside == 0) continue;
    for (int64_t i = start; i < end; i++) {
      const T value = LoadAt<T>(values, i);
      if ((value < min || value > max) && IsValidAt(validity, i)) return i;
    }
  }
  return -1;
}

template <typename T>
int64_t FindBadOffset(const uint8_t* offsets, int64_t count, int64_t limit) {
  if (count == 0) return -1;
  T previous = 0;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t end = count - start < kBlock ? count : start + kBlock;
    uint64_t wrong = static_cast<uint64_t>(LoadAt<T>(offsets, start) < previous);
    for (int64_t i = start + 1; i < end; i++) {
      wrong |= static_cast<uint64_t>(LoadAt<T>(offsets, i) < LoadAt<T>(offsets, i - 1));
    }
    const T last = LoadAt<T>(offsets, end - 1);
    // In order from 0 on, the last is the largest and none is negative.
    if (wrong == 0 && last <= limit) {
      previous = last;
      continue;
    }
    for (int64_t i = start; i < end; i++) {
      const T offset = LoadAt<T>(offsets, i);
      if (offset < previous || offset > limit) return i;
      previous = offset;
    }
  }
  return -1;
}

using Int128 = __int128;

Int128 PowerOfTen(int exponent) {
  Int128 power = 1;
  for (int i = 0; i < exponent; i++) power *= 10;
  return power;
}

// 128 bits with an absolute value below 10^precision, precision at most 38.
int64_t FindLongDecimal128(const uint8_t* values, int64_t length, int64_t from, int precision,
                           const uint8_t* validity) {
  const Int128 limit = PowerOfTen(precision);
  // Up to 18 digits: the value is its low half, sign-extended.
  const bool fits64 = precision <= 18;
  const auto limit64 = static_cast<int64_t>(fits64 ? limit : 0);
  // Beyond: an upper half in [-quick, quick) is enough to be within, whatever lies below.
  const auto quick = static_cast<int64_t>(limit >> 64);
  int64_t end = from;
  for (int64_t start = from; start < length; start = end) {
    end = length - start < kBlock ? length : start + kBlock;
    uint64_t wrong = 0;
    if (fits64) {
      for (int64_t i = start; i < end; i++) {
        const auto low = LoadAt<int64_t>(values, i * 2);
        const auto high = LoadAt<int64_t>(values, i * 2 + 1);
        wrong |=
            static_cast<uint64_t>(high ^ (low >> 63)) | static_cast<uint64_t>((low >= limit64) | (low <= -limit64));
      }
    } else {
      for (int64_t i = start; i < end; i++) {
        const auto high = LoadAt<int64_t>(values, i * 2 + 1);
        wrong |= static_cast<uint64_t>((high >= quick) | (high < -quick));
      }
    }
    if (wrong == 0) continue;
    for (int64_t i = start; i < end; i++) {
      const auto value = LoadAt<Int128>(values, i);
      if ((value >= limit || value <= -limit) && IsValidAt(validity, i)) return i;
    }
  }
  return -1;
}

// 256 bits; the limit, up to 10^76, as four 64-bit words.
int64_t FindLongDecimal256(const uint8_t* values, int64_t length, int64_t from, int precision,
                           const uint8_t* validity) {
  uint64_t limit[4] = {1, 0, 0, 0};
  for (int i = 0; i < precision; i++) {
    unsigned __int128 carry = 0;
    for (uint64_t& word : limit) {
      carry += static_cast<unsigned __int128>(word) * 10;
      word = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }
  for (int64_t i = from; i < length; i++) {
    uint64_t words[4];
    std::memcpy(words, values + i * 32, sizeof(words));
    const uint64_t sign = static_cast<int64_t>(words[3]) < 0 ? ~uint64_t{0} : 0;
    // The absolute value: complement, and one more.
    uint64_t carry = sign & 1;
    for (uint64_t& word : words) {
      word = (word ^ sign) + carry;
      carry = carry != 0 && word == 0 ? 1 : 0;
    }
    int w = 3;
    while (w > 0 && words[w] == limit[w]) w--;
    if (words[w] >= limit[w] && IsValidAt(validity, i)) return i;
  }
  return -1;
}

}  // namespace

int64_t FindInvalidUtf8(const uint8_t* data, int64_t size) {
  int64_t at = 0;
#if defined(__x86_64__)
  static const bool has_ssse3 = __builtin_cpu_supports("ssse3") != 0;
  if (has_ssse3 && size >= 64) at = SkipValidUtf8(data, size);
#endif
  return FindInvalidUtf8Scalar(data, at, size);
}

int64_t FindBadOffset32(const uint8_t* offsets, int64_t count, int64_t limit) {
  return FindBadOffset<int32_t>(offsets, count, limit);
}

int64_t FindBadOffset64(const uint8_t* offsets, int64_t count, int64_t limit) {
  return FindBadOffset<int64_t>(offsets, count, limit);
}

int64_t FindBadText(const uint8_t* offsets, int width, int64_t length, const uint8_t* data, const uint8_t* validity) {
  auto offset = [&](int64_t index) -> int64_t {
    return width == 4 ? LoadAt<int32_t>(offsets, index) : LoadAt<int64_t>(offsets, index);
  };
  if (length == 0) return -1;
  const int64_t start = offset(0);
  const int64_t end = offset(length);
  const int64_t bad = FindInvalidUtf8(data + start, end - start);
  if (bad < 0) {
    // All of it is text; each value is, unless it begins in the middle of a character.
    uint64_t torn = 0;
    for (int64_t i = 1; i < length; i++) {
      const int64_t at = offset(i);
      torn |= static_cast<uint64_t>(at < end && IsContinuation(data[at]));
    }
    if (torn == 0) return -1;
  }
  for (int64_t i = 0; i < length; i++) {
    const int64_t from = offset(i);
    if (FindInvalidUtf8(data + from, offset(i + 1) - from) >= 0 && IsValidAt(validity, i)) return i;
  }
  return -1;
}

int64_t FindOutside(const uint8_t* values, int width, int64_t length, int64_t from, int64_t min, int64_t max,
                    const uint8_t* validity) {
  switch (width) {
    case 1: return FindOutsideOf<int8_t>(values, length, from, min, max, validity);
    case 2: return FindOutsideOf<int16_t>(values, length, from, min, max, validity);
    case 4: return FindOutsideOf<int32_t>(values, length, from, min, max, validity);
    default: return FindOutsideOf<int64_t>(values, length, from, min, max, validity);
  }
}

int64_t FindLongDecimal(const uint8_t* values, int width, int64_t length, int64_t from, int precision,
                        const uint8_t* validity) {
  // As many digits as the width can hold at all: every value is right.
  static constexpr int kMostDigits[] = {9, 18, 38, 76};
  switch (width) {
    case 4:
    case 8: {
      if (precision > kMostDigits[width / 8]) return -1;
      const auto limit = static_cast<int64_t>(PowerOfTen(precision));
      return FindOutside(values, width, length, from, -limit + 1, limit - 1, validity);
    }
    case 16: return precision > kMostDigits[2] ? -1 : FindLongDecimal128(values, length, from, precision, validity);
    default: return precision > kMostDigits[3] ? -1 : FindLongDecimal256(values, length, from, precision, validity);
  }
}

}  // namespace arrow_scan
