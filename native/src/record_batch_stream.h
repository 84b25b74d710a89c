// A bounded queue of record batches behind an ArrowArrayStream.
//
// In: batches, from the JavaScript thread. Out: the same batches in the same order, to DuckDB's threads.
//
// The rules of ownership and threads of this package; the lines that keep one cite it.
//
// Schema
//   S1  Every exported schema struct belongs to the stream and dies with it. `release` only marks, since
//       duckdb_arrow_scan clears the release callback of every schema that it asks for.
//   S2  The tree behind the structs is built once, on the JS thread, and never changes.
// Batch
//   B1  What keeps a batch's buffers alive is destroyed once, on any thread, and never calls JavaScript.
//   B2  A batch owns what keeps its buffers alive; nothing else does.
//   B3  get_next gives a batch away. From then on it belongs to DuckDB; it dies with the last of its structs
//       to be released, late and on any thread.
//   B4  Bytes that were copied are the batch's own and need nobody else.
// Stream
//   T1  The ArrowArrayStream struct is never freed while anything may look at it: a view holds its bare
//       address and nothing tells us when the view is gone. Dead ones rest in a ring (StreamHandle::Retire).
//   T2  A handle's stream is reached under its lock and kept alive for the length of the call.
//   T3  get_next may block; it needs no JavaScript thread, and every way out of a stream (end, fail, close,
//       garbage collection, environment teardown) wakes it. While it waits it rings the environment now and
//       then: a worker that is being terminated waits for running statements before it runs any cleanup hook,
//       and finds out by the ring that it must fail its streams.
//   T4  Rows are never dropped silently: a stream that is closed before its last batch was read ends in an error.
//   T5  DuckDB never releases the stream struct. Its `release` does nothing but mark.
// Environment (environment.h)
//   E1  References to ArrayBuffers are created and deleted on the thread of their environment alone.
//   E2  A batch that goes on another thread leaves its references in the environment's list and wakes it; the
//       list is also swept by every call into the addon.
//   E3  When an environment ends, its streams fail first; then it waits, bounded, for DuckDB to let go of what
//       was pinned; from then on nobody touches N-API for it.
//   E4  Whoever pushed a batch under a number is told that number on the JS thread, once, after the batch is gone:
//       from then on no thread reads its buffers. Not told: a push that threw, and what is left when the
//       environment ends.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "arrow_c_data.h"
#include "record_batch.h"
#include "schema_tree.h"

namespace arrow_scan {

struct StreamLimits {
  int64_t capacity_batches;
  int64_t capacity_bytes;
};

struct StreamCounts {
  int64_t rows_handed_over;
  int64_t batches_handed_over;
  int64_t bytes_handed_over;
  int64_t batches_queued;
  // Of `live_batches`: those that DuckDB has and hasn't released.
  int64_t batches_held;
  int64_t bytes_alive;
};

enum class PushResult : uint8_t {
  kRoom,    // taken, and another one may follow
  kFull,    // taken; wait for room
  kClosed,  // not taken: nobody will read it
};

class RecordBatchStream {
 public:
  // `ring` is called on DuckDB's threads, without the stream's lock: when a reader made room that was asked
  // for, and now and then while a reader waits (T3).
  RecordBatchStream(std::unique_ptr<SchemaNode> schema, StreamLimits limits, std::function<void()> ring);

  const SchemaNode& schema() const { return *schema_; }
  const std::shared_ptr<LiveCounts>& live() const { return live_; }

  // From the JS thread. Push takes the batch on success only.
  PushResult Push(std::unique_ptr<RecordBatch> batch);
  // True if another batch may follow. If not, `ring` will be called once there is room, or once nobody reads.
  bool HasRoom();
  // True once failed or closed.
  bool IsClosed();
  bool IsEnded();
  // No more batches: after the last one readers see the end.
  void End();
  // Readers get `message` instead of what is still queued. The first failure stays. After the end was read: no effect.
  void Fail(const std::string& message);
  // Fail with a standard text, unless the end was read. Drops what is queued.
  void Close(const std::string& message);
  // True if a reader came, the producer ended and the end wasn't read yet: the rest can be read without a producer.
  bool IsBeingReadToItsEnd();
  StreamCounts Counts();

  // From DuckDB's threads.
  void GetSchema(ArrowSchema* out);
  // 0, or an errno value with the text in `error`. At the end `out->release` is null.
  int GetNext(ArrowArray* out, std::string* error);

 private:
  bool RoomLocked() const;

  const std::unique_ptr<SchemaNode> schema_;  // S2
  const StreamLimits limits_;
  const std::function<void()> ring_;
  const std::shared_ptr<LiveCounts> live_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<RecordBatch>> queue_;
  std::vector<std::unique_ptr<SchemaCopy>> schema_copies_;  // S1
  int64_t queued_bytes_ = 0;
  bool room_wanted_ = false;
  bool reader_came_ = false;
  bool ended_ = false;
  bool end_was_read_ = false;
  bool failed_ = false;
  std::string failure_;
  int64_t rows_handed_over_ = 0;
  int64_t batches_handed_over_ = 0;
  int64_t bytes_handed_over_ = 0;
};

// The ArrowArrayStream that DuckDB sees, apart from the stream so that it can outlive it (T1).
class StreamHandle {
 public:
  explicit StreamHandle(std::shared_ptr<RecordBatchStream> stream);

  ArrowArrayStream* c_stream() { return &c_stream_; }

  // The stream, or null when it was retired (T2). Any thread.
  std::shared_ptr<RecordBatchStream> stream();

  // The owner lets go: `message` is what a reader who comes later gets. The handle is freed only after
  // some ten thousand others were retired. Any thread; `handle` must not be used by the caller afterwards.
  static void Retire(StreamHandle* handle, const std::string& message);

  // The owner was garbage collected: retires the handle, at once or, while a statement reads the rest of a
  // stream that has ended, when that is over. Any thread.
  static void Abandon(StreamHandle* handle);

 private:
  static int GetSchema(ArrowArrayStream* stream, ArrowSchema* out);
  static int GetNext(ArrowArrayStream* stream, ArrowArray* out);
  static const char* GetLastError(ArrowArrayStream* stream);
  static void Release(ArrowArrayStream* stream);

  ArrowArrayStream c_stream_;
  std::mutex mutex_;
  std::shared_ptr<RecordBatchStream> stream_;
  std::string last_error_;
};

}  // namespace arrow_scan
