#include "record_batch.h"

#include <cstring>

namespace arrow_scan {
namespace {

constexpr size_t kCopyAlignment = 64;

// What a buffer of no bytes points to, so that a reader that looks at the first offset of an
// empty array finds a zero there.
alignas(kCopyAlignment) const uint8_t kEmptyBuffer[kCopyAlignment] = {};

std::string Describe(const SchemaNode& node) { return "column '" + node.name + "' (format " + node.format + ")"; }

[[noreturn]] void Refuse(const SchemaNode& node, const std::string& what) {
  throw ShapeError(Describe(node) + ": " + what);
}

template <typename T>
T ReadAt(const uint8_t* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

size_t RoundUp(uint64_t bytes) { return (bytes + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment; }

}  // namespace

// Walks the plan and the schema side by side.
class BatchBuilder {
 public:
  BatchBuilder(const BatchPlan& plan, const std::vector<MemoryBlock>& blocks, bool copy, RecordBatch* batch)
      : plan_(plan), blocks_(blocks), copy_(copy), batch_(batch) {}

  void Build(const SchemaNode& schema, int64_t rows) {
    Measure(schema);
    ArrowArray* root = NextArray();
    batch_->root_ = root;
    root->length = rows;
    root->n_buffers = 1;
    root->buffers = NextBuffers(1);
    root->buffers[0] = nullptr;
    root->n_children = static_cast<int64_t>(schema.children.size());
    root->children = NextChildren(schema.children.size());
    for (size_t i = 0; i < schema.children.size(); i++) {
      ArrowArray* column = NextArray();
      root->children[i] = column;
      Column(*schema.children[i], column);
      if (column->length != rows) {
        Refuse(*schema.children[i],
               "has " + std::to_string(column->length) + " rows in a batch of " + std::to_string(rows));
      }
    }
    if (position_ != plan_.size) throw ShapeError("the batch has more columns than its schema");
  }

 private:
  // First pass: how many structs, pointers and bytes there will be, so that nothing moves afterwards.
  void Measure(const SchemaNode& schema) {
    size_t arrays = 1;
    size_t children = schema.children.size();
    size_t buffers = 1;
    uint64_t copied = 0;
    size_t position = 0;
    while (position < plan_.size) {
      if (plan_.size - position < 5) throw ShapeError("the batch's plan ends inside an array");
      const double n_buffers = plan_.values[position + 2];
      const double n_children = plan_.values[position + 3];
      const double room = static_cast<double>(plan_.size - position);
      if (!(n_buffers >= 0 && n_buffers * 3 <= room && n_children >= 0 && n_children <= room)) {
        throw ShapeError("the batch's plan has wrong counts");
      }
      arrays++;
      // One more for the sizes of a view's data buffers.
      buffers += static_cast<size_t>(n_buffers) + 1;
      children += static_cast<size_t>(n_children);
      position += 5;
      for (size_t i = 0; i < static_cast<size_t>(n_buffers); i++, position += 3) {
        if (plan_.size - position < 3) throw ShapeError("the batch's plan ends inside a buffer");
        const double length = plan_.values[position + 2];
        if (!(length >= 0 && length <= 9007199254740992.0)) throw ShapeError("a buffer's length is out of range");
        if (copy_) copied += RoundUp(static_cast<uint64_t>(length));
      }
    }
    batch_->arrays_.resize(arrays);
    batch_->child_pointers_.resize(children);
    batch_->buffer_pointers_.resize(buffers);
    if (copied > 0) copy_to_ = Allocate(copied);
  }

  // 64-byte aligned memory that the batch owns (B4).
  uint8_t* Allocate(uint64_t bytes) {
    batch_->copies_.emplace_back(new uint8_t[bytes + kCopyAlignment]);
    const auto address = reinterpret_cast<uintptr_t>(batch_->copies_.back().get());
    return reinterpret_cast<uint8_t*>((address + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment);
  }

  ArrowArray* NextArray() {
    if (next_array_ == batch_->arrays_.size()) throw ShapeError("the batch has fewer columns than its schema");
    return &batch_->arrays_[next_array_++];
  }

  ArrowArray** NextChildren(size_t count) {
    if (batch_->child_pointers_.size() - next_child_ < count) throw ShapeError("the batch's plan has wrong counts");
    ArrowArray** children = batch_->child_pointers_.data() + next_child_;
    next_child_ += count;
    return count == 0 ? nullptr : children;
  }

  const void** NextBuffers(size_t count) {
    if (batch_->buffer_pointers_.size() - next_buffer_ < count) throw ShapeError("the batch's plan has wrong counts");
    const void** buffers = batch_->buffer_pointers_.data() + next_buffer_;
    next_buffer_ += count;
    return buffers;
  }

  int64_t NextInteger(const SchemaNode& node, const char* what) {
    if (position_ == plan_.size) Refuse(node, "is missing in the batch");
    const double value = plan_.values[position_++];
    if (!(value >= 0 && value <= 9007199254740992.0)) {
      Refuse(node, std::string(what) + " is " + std::to_string(value) + ", expected an integer from 0 to 2^53");
    }
    return static_cast<int64_t>(value);
  }

  struct Bytes {
    const uint8_t* data;
    int64_t size;
  };

  // The next buffer of the plan, where it lies; data is null for a null buffer.
  Bytes NextBytes(const SchemaNode& node) {
    const double block = plan_.values[position_++];
    const auto offset = static_cast<uint64_t>(NextInteger(node, "a buffer's offset"));
    const auto size = static_cast<uint64_t>(NextInteger(node, "a buffer's length"));
    if (block == -1) return {nullptr, 0};
    if (!(block >= 0 && block < static_cast<double>(blocks_.size())))
      Refuse(node, "a buffer's memory block is unknown");
    const MemoryBlock& memory = blocks_[static_cast<size_t>(block)];
    if (offset > memory.size || size > memory.size - offset) {
      Refuse(node, "a buffer ends at byte " + std::to_string(offset + size) + " of an ArrayBuffer of " +
                       std::to_string(memory.size) + " (was it resized or transferred?)");
    }
    batch_->bytes_ += static_cast<int64_t>(size);
    return {memory.data + offset, static_cast<int64_t>(size)};
  }

  // Where DuckDB shall look: the bytes themselves, or a copy of them.
  const uint8_t* Place(const Bytes& bytes, int64_t alignment) {
    if (bytes.size == 0) return kEmptyBuffer;
    if (copy_) {
#ifdef ARROW_SCAN_EXACT_COPIES
      // For memory checkers: a buffer's end is the end of its memory.
      copy_to_ =
          (batch_->copies_.emplace_back(new uint8_t[static_cast<size_t>(bytes.size)]), batch_->copies_.back().get());
#endif
      uint8_t* target = copy_to_;
      copy_to_ += RoundUp(static_cast<uint64_t>(bytes.size));
      std::memcpy(target, bytes.data, static_cast<size_t>(bytes.size));
      return target;
    }
    if (reinterpret_cast<uintptr_t>(bytes.data) % static_cast<uintptr_t>(alignment) == 0) return bytes.data;
    uint8_t* target = Allocate(static_cast<uint64_t>(bytes.size));
    std::memcpy(target, bytes.data, static_cast<size_t>(bytes.size));
    return target;
  }

  void Column(const SchemaNode& node, ArrowArray* array) {
    array->length = NextInteger(node, "the length");
    array->null_count = NextInteger(node, "the null count");
    const int64_t n_buffers = NextInteger(node, "the number of buffers");
    const int64_t n_children = NextInteger(node, "the number of children");
    const bool has_dictionary = NextInteger(node, "the dictionary flag") != 0;
    if (array->null_count > array->length) {
      Refuse(node, std::to_string(array->null_count) + " nulls in " + std::to_string(array->length) + " rows");
    }
    const int64_t last_offset = Buffers(node, array, n_buffers);
    // A dictionary-encoded array has its children in the dictionary.
    const size_t children = node.children.size();
    if (n_children != static_cast<int64_t>(children)) {
      Refuse(node, "has " + std::to_string(n_children) + " children, expected " + std::to_string(children));
    }
    array->n_children = n_children;
    array->children = NextChildren(children);
    for (size_t i = 0; i < children; i++) {
      ArrowArray* child = NextArray();
      array->children[i] = child;
      Column(*node.children[i], child);
      CheckChildLength(node, *array, *node.children[i], *child, last_offset);
    }
    if (has_dictionary != (node.dictionary != nullptr)) {
      Refuse(node, has_dictionary ? "has a dictionary that its schema doesn't name"
                                  : "has no dictionary, its schema names one");
    }
    if (has_dictionary) {
      array->dictionary = NextArray();
      Column(*node.dictionary, array->dictionary);
    }
  }

  // Fills the buffer pointers. Returns the last offset of a list or a string, else 0.
  int64_t Buffers(const SchemaNode& node, ArrowArray* array, int64_t n_buffers) {
    const ColumnLayout& layout = node.layout;
    const auto expected = static_cast<int64_t>(layout.buffers.size());
    if (layout.has_variadic_buffers ? n_buffers < expected : n_buffers != expected) {
      Refuse(node, "has " + std::to_string(n_buffers) + " buffers, expected " + std::to_string(expected) +
                       (layout.has_variadic_buffers ? " or more" : ""));
    }
    if (static_cast<size_t>(n_buffers) * 3 > plan_.size - position_) Refuse(node, "ends inside a buffer");
    array->n_buffers = n_buffers + (layout.has_variadic_buffers ? 1 : 0);
    array->buffers = NextBuffers(static_cast<size_t>(array->n_buffers));
    int64_t last_offset = 0;
    for (int64_t i = 0; i < expected; i++) {
      const BufferRule& rule = layout.buffers[static_cast<size_t>(i)];
      const Bytes bytes = NextBytes(node);
      const int64_t required = rule.kind == BufferKind::kData ? last_offset : RequiredBytes(rule, array->length);
      if (rule.kind == BufferKind::kValidity && bytes.data == nullptr) {
        if (array->null_count > 0) Refuse(node, std::to_string(array->null_count) + " nulls without a validity buffer");
        array->buffers[i] = nullptr;
        continue;
      }
      if (required < 0 || bytes.size < required) {
        Refuse(node, "buffer " + std::to_string(i) + " has " + std::to_string(bytes.size) +
                         " bytes, expected at least " + std::to_string(required) + " for " +
                         std::to_string(array->length) + " rows");
      }
      if (rule.kind == BufferKind::kOffsets && array->length > 0) {
        last_offset =
            rule.width == 4 ? ReadAt<int32_t>(bytes.data, array->length) : ReadAt<int64_t>(bytes.data, array->length);
        if (last_offset < 0) Refuse(node, "the last offset is " + std::to_string(last_offset));
      }
      array->buffers[i] = Place(bytes, RequiredAlignment(rule));
    }
    if (layout.has_variadic_buffers) {
      const int64_t n_data = n_buffers - expected;
      batch_->view_sizes_.emplace_back(new int64_t[static_cast<size_t>(n_data) + 1]);
      int64_t* sizes = batch_->view_sizes_.back().get();
      sizes[n_data] = 0;
      for (int64_t i = 0; i < n_data; i++) {
        const Bytes bytes = NextBytes(node);
        sizes[i] = bytes.size;
        array->buffers[expected + i] = Place(bytes, 1);
      }
      array->buffers[n_buffers] = sizes;
    }
    return last_offset;
  }

  static void CheckChildLength(const SchemaNode& node, const ArrowArray& array, const SchemaNode& child_node,
                               const ArrowArray& child, int64_t last_offset) {
    int64_t required = 0;
    switch (node.layout.child_rule) {
      case ChildRule::kNone:
      case ChildRule::kAny: return;
      case ChildRule::kSameLength: required = array.length; break;
      case ChildRule::kLastOffset: required = last_offset; break;
      case ChildRule::kMultiple:
        if (__builtin_mul_overflow(array.length, node.layout.list_size, &required)) required = INT64_MAX;
        break;
    }
    if (child.length < required) {
      Refuse(node, "its child '" + child_node.name + "' has " + std::to_string(child.length) +
                       " rows, expected at least " + std::to_string(required));
    }
  }

  const BatchPlan& plan_;
  const std::vector<MemoryBlock>& blocks_;
  const bool copy_;
  RecordBatch* batch_;
  uint8_t* copy_to_ = nullptr;
  size_t position_ = 0;
  size_t next_array_ = 0;
  size_t next_child_ = 0;
  size_t next_buffer_ = 0;
};

std::unique_ptr<RecordBatch> RecordBatch::Build(const SchemaNode& schema, int64_t rows, const BatchPlan& plan,
                                                const std::vector<MemoryBlock>& blocks, bool copy,
                                                std::shared_ptr<LiveCounts> live) {
  std::unique_ptr<RecordBatch> batch(new RecordBatch());
  BatchBuilder(plan, blocks, copy, batch.get()).Build(schema, rows);
  batch->live_ = std::move(live);
  batch->live_->batches++;
  batch->live_->bytes += batch->bytes_;
  return batch;
}

RecordBatch::~RecordBatch() {
  if (live_ == nullptr) return;
  live_->batches--;
  live_->bytes -= bytes_;
}

void RecordBatch::Export(std::unique_ptr<RecordBatch> batch, ArrowArray* out) {
  RecordBatch* given = batch.release();
  given->references_ = static_cast<int64_t>(given->arrays_.size());
  for (ArrowArray& array : given->arrays_) {
    array.release = Release;
    array.private_data = given;
  }
  // The root struct moves to the consumer's; the batch's own copy of it is never released.
  *out = *given->root_;
}

void RecordBatch::Release(ArrowArray* array) {
  auto* batch = static_cast<RecordBatch*>(array->private_data);
  for (int64_t i = 0; i < array->n_children; i++) {
    ArrowArray* child = array->children[i];
    if (child->release != nullptr) child->release(child);
  }
  if (array->dictionary != nullptr && array->dictionary->release != nullptr) {
    array->dictionary->release(array->dictionary);
  }
  array->release = nullptr;
  batch->Unref();
}

void RecordBatch::Unref() {
  // B3: the last struct takes the batch with it.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace arrow_scan
