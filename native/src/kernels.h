// Checks of raw buffers, fast enough to run over every byte: each looks for the first value that is wrong.
//
// All are pure functions over memory of the caller's, may run on any thread, and never read past the sizes
// that they are given. Values may lie at any address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arrow_scan {

// Where the first malformed sequence of [data, data + size) begins, or -1. RFC 3629: no overlong forms, no
// surrogates, nothing beyond U+10FFFF; a sequence that the end cuts is malformed.
int64_t FindInvalidUtf8(const uint8_t* data, int64_t size);

// The first index of `count` offsets that is negative, below the one before, or over `limit`; or -1.
int64_t FindBadOffset32(const uint8_t* offsets, int64_t count, int64_t limit);
int64_t FindBadOffset64(const uint8_t* offsets, int64_t count, int64_t limit);

// The first of `length` texts that is valid (bitmap; null: all are) and isn't UTF-8 by itself, or -1.
// The `length + 1` offsets, `width` bytes each, were checked with FindBadOffset against the data's size.
int64_t FindBadText(const uint8_t* offsets, int width, int64_t length, const uint8_t* data, const uint8_t* validity);

// The first integer from index `from` on that is valid and outside [min, max], or -1. `width` 1, 2, 4 or 8 bytes,
// signed.
int64_t FindOutside(const uint8_t* values, int width, int64_t length, int64_t from, int64_t min, int64_t max,
                    const uint8_t* validity);

// The first decimal from index `from` on that is valid and has more than `precision` digits, or -1.
// `width` 4, 8, 16 or 32 bytes, two's complement, least significant byte first.
int64_t FindLongDecimal(const uint8_t* values, int width, int64_t length, int64_t from, int precision,
                        const uint8_t* validity);

}  // namespace arrow_scan
