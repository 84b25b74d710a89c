// One record batch as a tree of ArrowArray structs in a single block of memory.
//
// Ownership rules of this package are numbered in record_batch_stream.h; B1 to B4 live here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrow_c_data.h"
#include "schema_tree.h"

namespace arrow_scan {

// A batch whose shape doesn't fit its schema.
struct ShapeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Memory that JavaScript handed in: one entry per distinct ArrayBuffer.
struct MemoryBlock {
  uint8_t* data;
  uint64_t size;
};

// Keeps the memory behind a batch's buffers alive. B1: destroyed once, on whichever thread lets
// the batch go last, so a destructor must not call into JavaScript.
class BufferOwner {
 public:
  virtual ~BufferOwner() = default;
};

// What is alive of one stream's batches, wherever they are. Read and written on any thread.
struct LiveCounts {
  std::atomic<int64_t> batches{0};
  std::atomic<int64_t> bytes{0};
};

// The flattened form of a batch, an array of doubles written by index.js, pre-order, for each array:
//   length, null count, number of buffers, number of children, 1 if a dictionary follows (else 0),
//   then for each buffer: index of its memory block (-1: null), byte offset, byte length,
// then the children in order, then the dictionary.
struct BatchPlan {
  const double* values;
  size_t size;
};

class RecordBatch {
 public:
  // Builds the structs for `rows` rows of `schema`'s children. With `copy` the bytes are copied and
  // `blocks` may change afterwards; without, `blocks` must stay alive as long as the owner set below.
  // Throws ShapeError or std::bad_alloc; then nothing is retained. JS thread.
  static std::unique_ptr<RecordBatch> Build(const SchemaNode& schema, int64_t rows, const BatchPlan& plan,
                                            const std::vector<MemoryBlock>& blocks, bool copy,
                                            std::shared_ptr<LiveCounts> live);
  ~RecordBatch();
  RecordBatch(const RecordBatch&) = delete;
  RecordBatch& operator=(const RecordBatch&) = delete;

  // B2: the batch owns what keeps its buffers alive.
  void SetOwner(std::unique_ptr<BufferOwner> owner) { owner_ = std::move(owner); }

  int64_t rows() const { return root_->length; }
  // Bytes of all buffers as they were handed in.
  int64_t bytes() const { return bytes_; }

  // B3: gives the batch away. Afterwards it belongs to `out`'s consumer and is deleted when the last
  // of its structs is released: a consumer may move children out of their parent. Any thread.
  static void Export(std::unique_ptr<RecordBatch> batch, ArrowArray* out);

 private:
  friend class BatchBuilder;
  RecordBatch() = default;
  static void Release(ArrowArray* array);
  void Unref();

  std::vector<ArrowArray> arrays_;
  std::vector<ArrowArray*> child_pointers_;
  std::vector<const void*> buffer_pointers_;
  std::vector<std::unique_ptr<int64_t[]>> view_sizes_;
  // B4: copied bytes, and pinned ones that weren't aligned, are the batch's own.
  std::vector<std::unique_ptr<uint8_t[]>> copies_;
  std::unique_ptr<BufferOwner> owner_;
  std::shared_ptr<LiveCounts> live_;
  std::atomic<int64_t> references_{0};
  ArrowArray* root_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace arrow_scan
