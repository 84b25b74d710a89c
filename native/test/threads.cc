// The stream without Node: producers, readers that release late on other threads, and every way out at once.
// Compiled with ThreadSanitizer by sanitize.mjs; prints "fine" and exits 0, or says what is wrong.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "../src/record_batch_stream.h"

namespace arrow_scan {
namespace {

std::atomic<int64_t> owners{0};
std::atomic<int64_t> rings{0};

void Expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

// Counts what keeps buffers alive, and owns them.
class CountedBuffer final : public BufferOwner {
 public:
  explicit CountedBuffer(size_t size) : bytes(size) { owners++; }
  ~CountedBuffer() override { owners--; }
  std::vector<uint8_t> bytes;
};

std::unique_ptr<SchemaNode> Field(const char* name, const char* format) {
  auto node = std::make_unique<SchemaNode>();
  node->name = name;
  node->format = format;
  node->flags = kFlagNullable;
  std::string error;
  Expect(ColumnLayout::FromFormat(format, &node->layout, &error), error.c_str());
  return node;
}

std::unique_ptr<SchemaNode> Schema() {
  auto root = Field("", "+s");
  root->children.push_back(Field("n", "l"));
  auto list = Field("list", "+l");
  list->children.push_back(Field("item", "i"));
  root->children.push_back(std::move(list));
  auto word = Field("word", "c");
  word->dictionary = Field("", "u");
  root->children.push_back(std::move(word));
  return root;
}

// 64 rows: their number in the stream, lists of one item, and one word of a dictionary of two.
std::unique_ptr<RecordBatch> Batch(const RecordBatchStream& stream, int64_t number, bool copy) {
  constexpr int64_t rows = 64;
  auto owner = std::make_unique<CountedBuffer>(512 + 264 + 256 + 64 + 16 + 8);
  uint8_t* data = owner->bytes.data();
  for (int64_t i = 0; i < rows; i++) {
    const int64_t value = number * rows + i;
    std::memcpy(data + i * 8, &value, 8);
    const auto offset = static_cast<int32_t>(i + 1);
    std::memcpy(data + 512 + (i + 1) * 4, &offset, 4);
    data[1032 + i] = static_cast<uint8_t>(i % 2);
  }
  const int32_t words[3] = {0, 3, 6};
  std::memcpy(data + 1096, words, sizeof(words));
  std::memcpy(data + 1112, "onetwo", 6);
  const std::vector<double> plan = {
      64, 0, 2, 0, 0, -1, 0, 0, 0, 0,    512,              // n
      64, 0, 2, 1, 0, -1, 0, 0, 0, 512,  260,              // list
      64, 0, 2, 0, 0, -1, 0, 0, 0, 776,  256,              // item
      64, 0, 2, 0, 1, -1, 0, 0, 0, 1032, 64,               // word
      2,  0, 3, 0, 0, -1, 0, 0, 0, 1096, 12,  0, 1112, 6,  // its dictionary
  };
  const std::vector<MemoryBlock> blocks = {{data, owner->bytes.size()}};
  auto batch = RecordBatch::Build(stream.schema(), rows, {plan.data(), plan.size()}, blocks, copy, stream.live());
  if (!copy) batch->SetOwner(std::move(owner));
  return batch;
}

struct Outcome {
  int64_t rows = 0;
  bool ended = false;
  std::string error;
};

// As DuckDB's scan: a copy of the struct, batches by turns under a lock, released late and elsewhere.
Outcome Read(const ArrowArrayStream& shared, int readers, unsigned seed) {
  ArrowArrayStream stream = shared;
  std::mutex turn;
  std::mutex late_mutex;
  std::vector<ArrowArray> late;
  Outcome outcome;
  bool over = false;
  std::vector<std::thread> threads;
  for (int reader = 0; reader < readers; reader++) {
    threads.emplace_back([&, reader] {
      std::mt19937 random(seed + static_cast<unsigned>(reader));
      for (;;) {
        ArrowArray array;
        {
          std::lock_guard<std::mutex> lock(turn);
          if (over) return;
          if (stream.get_next(&stream, &array) != 0) {
            outcome.error = stream.get_last_error(&stream);
            over = true;
            return;
          }
          if (array.release == nullptr) {
            outcome.ended = over = true;
            return;
          }
          int64_t first = 0;
          std::memcpy(&first, array.children[0]->buffers[1], 8);
          Expect(first == outcome.rows, "rows arrive in order");
          outcome.rows += array.length;
        }
        int32_t last = 0;
        std::memcpy(&last, static_cast<const uint8_t*>(array.children[1]->buffers[1]) + 256, 4);
        Expect(last == 64, "offsets are where they should be");
        Expect(std::memcmp(array.children[2]->dictionary->buffers[2], "onetwo", 6) == 0, "the dictionary is there");
        if (random() % 4 == 0) {
          // A child moved out of its parent lives on its own.
          ArrowArray child = *array.children[0];
          array.children[0]->release = nullptr;
          array.release(&array);
          int64_t first = -1;
          std::memcpy(&first, child.buffers[1], 8);
          Expect(first % 64 == 0, "a child's memory stays");
          child.release(&child);
        } else if (random() % 2 == 0) {
          array.release(&array);
        } else {
          std::lock_guard<std::mutex> lock(late_mutex);
          late.push_back(array);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::thread([&] {
    for (ArrowArray& array : late) array.release(&array);
  }).join();
  return outcome;
}

enum class Way { kEnd, kFail, kClose, kAbandon, kAbandonAfterEnd };

void Round(unsigned seed) {
  std::mt19937 random(seed);
  const auto way = static_cast<Way>(random() % 5);
  const bool copy = random() % 3 == 0;
  const int64_t batches = random() % 50;
  StreamLimits limits{1 + static_cast<int64_t>(random() % 4), 1 << 20};
  std::mutex bell;
  std::condition_variable rung;
  auto stream = std::make_shared<RecordBatchStream>(Schema(), limits, [&] {
    rings++;
    std::lock_guard<std::mutex> lock(bell);
    rung.notify_all();
  });
  auto* handle = new StreamHandle(stream);
  ArrowSchema schema;
  Expect(handle->c_stream()->get_schema(handle->c_stream(), &schema) == 0 && schema.n_children == 3, "the schema");
  schema.release(&schema);  // S1: not after the stream's end.
  const ArrowArrayStream view = *handle->c_stream();
  const int readers = 1 + static_cast<int>(random() % 3);
  Outcome outcome;
  std::thread reader([&] { outcome = Read(view, readers, seed); });
  int64_t pushed = 0;
  for (; pushed < batches; pushed++) {
    const PushResult result = stream->Push(Batch(*stream, pushed, copy));
    Expect(result != PushResult::kClosed, "an open stream takes batches");
    while (result == PushResult::kFull && !stream->HasRoom()) {
      std::unique_lock<std::mutex> lock(bell);
      rung.wait_for(lock, std::chrono::milliseconds(1));
    }
    if (random() % 16 == 0) stream->Counts();
  }
  switch (way) {
    case Way::kEnd: stream->End(); break;
    case Way::kFail: stream->Fail("on purpose"); break;
    case Way::kClose:
      stream->End();
      stream->Close("closed");
      break;
    case Way::kAbandon:
    case Way::kAbandonAfterEnd:
      if (way == Way::kAbandonAfterEnd) stream->End();
      stream.reset();
      StreamHandle::Abandon(handle);
      break;
  }
  reader.join();
  Expect(outcome.ended != !outcome.error.empty(), "a stream ends or fails");
  // Nothing is lost in silence (T4).
  if (outcome.ended) Expect(outcome.rows == batches * 64, "an end comes after all rows");
  if (way == Way::kEnd) Expect(outcome.ended, "an ended stream ends");
  if (way == Way::kFail || way == Way::kAbandon) Expect(!outcome.ended, "a failed stream fails");
  if (stream) {
    const StreamCounts counts = stream->Counts();
    Expect(counts.batches_queued == 0 && counts.batches_held == 0 && counts.bytes_alive == 0, "all batches are gone");
    stream.reset();
    StreamHandle::Abandon(handle);
  }
  ArrowArrayStream late = view;
  ArrowArray array;
  const int code = late.get_next(&late, &array);
  Expect(code != 0 || array.release == nullptr, "a late reader gets nothing");
}

}  // namespace
}  // namespace arrow_scan

int main(int argc, char** argv) {
  const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 500;
  for (unsigned seed = 1; seed <= rounds; seed++) arrow_scan::Round(seed);
  arrow_scan::Expect(arrow_scan::owners == 0, "every buffer's owner is gone");
  std::printf("fine: %u rounds, %lld rings\n", rounds, static_cast<long long>(arrow_scan::rings.load()));
  return 0;
}
