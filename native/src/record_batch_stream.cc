#include "record_batch_stream.h"

#include <cerrno>
#include <chrono>

namespace arrow_scan {
namespace {

// How often a reader that waits rings (T3): a worker's end is late by this much at most.
constexpr auto kRingInterval = std::chrono::milliseconds(100);

}  // namespace

RecordBatchStream::RecordBatchStream(std::unique_ptr<SchemaNode> schema, StreamLimits limits,
                                     std::function<void()> ring)
    : schema_(std::move(schema)), limits_(limits), ring_(std::move(ring)), live_(std::make_shared<LiveCounts>()) {}

bool RecordBatchStream::RoomLocked() const {
  if (queue_.empty()) return true;
  return static_cast<int64_t>(queue_.size()) < limits_.capacity_batches && queued_bytes_ < limits_.capacity_bytes;
}

PushResult RecordBatchStream::Push(std::unique_ptr<RecordBatch> batch) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (failed_ || ended_) return PushResult::kClosed;
    queued_bytes_ += batch->bytes();
    queue_.push_back(std::move(batch));
    room_wanted_ = !RoomLocked();
    if (!room_wanted_) {
      changed_.notify_one();
      return PushResult::kRoom;
    }
  }
  changed_.notify_one();
  return PushResult::kFull;
}

bool RecordBatchStream::HasRoom() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (failed_ || ended_ || RoomLocked()) return true;
  room_wanted_ = true;
  return false;
}

bool RecordBatchStream::IsClosed() {
  std::lock_guard<std::mutex> lock(mutex_);
  return failed_;
}

bool RecordBatchStream::IsEnded() {
  std::lock_guard<std::mutex> lock(mutex_);
  return ended_;
}

void RecordBatchStream::End() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

void RecordBatchStream::Fail(const std::string& message) {
  std::deque<std::unique_ptr<RecordBatch>> dropped;
  bool wake = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (failed_) return;
    // T4: only a stream whose end was read may close without an error. It is still closed to producers.
    failed_ = true;
    failure_ = message;
    dropped.swap(queue_);
    queued_bytes_ = 0;
    wake = room_wanted_;
    room_wanted_ = false;
  }
  changed_.notify_all();  // T3
  if (wake) ring_();
}

void RecordBatchStream::Close(const std::string& message) { Fail(message); }

bool RecordBatchStream::IsBeingReadToItsEnd() {
  std::lock_guard<std::mutex> lock(mutex_);
  return reader_came_ && ended_ && !end_was_read_ && !failed_;
}

StreamCounts RecordBatchStream::Counts() {
  std::lock_guard<std::mutex> lock(mutex_);
  StreamCounts counts{};
  counts.rows_handed_over = rows_handed_over_;
  counts.batches_handed_over = batches_handed_over_;
  counts.bytes_handed_over = bytes_handed_over_;
  counts.batches_queued = static_cast<int64_t>(queue_.size());
  counts.batches_held = live_->batches.load() - counts.batches_queued;
  counts.bytes_alive = live_->bytes.load();
  return counts;
}

void RecordBatchStream::GetSchema(ArrowSchema* out) {
  auto copy = std::make_unique<SchemaCopy>(*schema_, out);
  std::lock_guard<std::mutex> lock(mutex_);
  schema_copies_.push_back(std::move(copy));  // S1
}

int RecordBatchStream::GetNext(ArrowArray* out, std::string* error) {
  out->release = nullptr;
  std::unique_ptr<RecordBatch> batch;
  bool wake = false;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    reader_came_ = true;
    if (end_was_read_) return 0;
    while (!changed_.wait_for(lock, kRingInterval, [this] { return failed_ || ended_ || !queue_.empty(); })) {
      lock.unlock();
      ring_();  // T3
      lock.lock();
    }
    if (failed_) {
      *error = failure_;
      return ECANCELED;
    }
    if (queue_.empty()) {
      end_was_read_ = true;
      return 0;
    }
    batch = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= batch->bytes();
    rows_handed_over_ += batch->rows();
    batches_handed_over_++;
    bytes_handed_over_ += batch->bytes();
    if (room_wanted_ && RoomLocked()) {
      room_wanted_ = false;
      wake = true;
    }
  }
  RecordBatch::Export(std::move(batch), out);  // B3
  if (wake) ring_();
  return 0;
}

StreamHandle::StreamHandle(std::shared_ptr<RecordBatchStream> stream) : stream_(std::move(stream)) {
  c_stream_.get_schema = GetSchema;
  c_stream_.get_next = GetNext;
  c_stream_.get_last_error = GetLastError;
  c_stream_.release = Release;
  c_stream_.private_data = this;
}

std::shared_ptr<RecordBatchStream> StreamHandle::stream() {
  std::lock_guard<std::mutex> lock(mutex_);
  return stream_;
}

void StreamHandle::Retire(StreamHandle* handle, const std::string& message) {
  constexpr size_t kResting = 10000;
  // Never destroyed: DuckDB's threads may outlive static destructors.
  static auto* mutex = new std::mutex();
  static auto* resting = new std::deque<std::unique_ptr<StreamHandle>>();
  std::shared_ptr<RecordBatchStream> stream;
  {
    std::lock_guard<std::mutex> lock(handle->mutex_);
    stream.swap(handle->stream_);
    handle->last_error_ = message;
  }
  if (stream) stream->Close(message);
  std::unique_ptr<StreamHandle> oldest;
  std::lock_guard<std::mutex> lock(*mutex);
  resting->emplace_back(handle);  // T1
  if (resting->size() > kResting) {
    oldest = std::move(resting->front());
    resting->pop_front();
  }
}

void StreamHandle::Abandon(StreamHandle* handle) {
  static auto* mutex = new std::mutex();
  static auto* being_read = new std::vector<StreamHandle*>();
  std::vector<StreamHandle*> done;
  {
    std::lock_guard<std::mutex> lock(*mutex);
    being_read->push_back(handle);
    auto is_done = [](StreamHandle* candidate) {
      const auto stream = candidate->stream();
      return stream == nullptr || !stream->IsBeingReadToItsEnd();
    };
    std::vector<StreamHandle*> kept;
    for (StreamHandle* candidate : *being_read) (is_done(candidate) ? done : kept).push_back(candidate);
    being_read->swap(kept);
  }
  for (StreamHandle* each : done) {
    Retire(
        each,
        "the stream was garbage collected while a statement could still read it; keep it until the statement is over");
  }
}

int StreamHandle::GetSchema(ArrowArrayStream* c_stream, ArrowSchema* out) {
  auto* handle = static_cast<StreamHandle*>(c_stream->private_data);
  const auto stream = handle->stream();
  if (stream == nullptr) {
    // DuckDB doesn't look at our result: a schema without columns is an error of its own there.
    *out = ArrowSchema{};
    out->format = "+s";
    out->name = "";
    return ECANCELED;
  }
  try {
    stream->GetSchema(out);
    return 0;
  } catch (const std::exception& error) {
    *out = ArrowSchema{};
    out->format = "+s";
    out->name = "";
    std::lock_guard<std::mutex> lock(handle->mutex_);
    handle->last_error_ = error.what();
    return ENOMEM;
  }
}

int StreamHandle::GetNext(ArrowArrayStream* c_stream, ArrowArray* out) {
  auto* handle = static_cast<StreamHandle*>(c_stream->private_data);
  out->release = nullptr;
  const auto stream = handle->stream();
  if (stream == nullptr) return ECANCELED;
  std::string error;
  int code = 0;
  try {
    code = stream->GetNext(out, &error);
  } catch (const std::exception& thrown) {
    error = thrown.what();
    code = ENOMEM;
  }
  if (code != 0) {
    std::lock_guard<std::mutex> lock(handle->mutex_);
    handle->last_error_ = error;
  }
  return code;
}

const char* StreamHandle::GetLastError(ArrowArrayStream* c_stream) {
  auto* handle = static_cast<StreamHandle*>(c_stream->private_data);
  std::lock_guard<std::mutex> lock(handle->mutex_);
  return handle->last_error_.c_str();
}

void StreamHandle::Release(ArrowArrayStream* c_stream) { c_stream->release = nullptr; }  // T5

}  // namespace arrow_scan
