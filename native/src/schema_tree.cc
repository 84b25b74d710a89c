#include "schema_tree.h"

#include <cstring>

namespace arrow_scan {
namespace {

// S1: marks, frees nothing. Any thread.
void MarkReleased(ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    ArrowSchema* child = schema->children[i];
    if (child->release != nullptr) child->release(child);
  }
  if (schema->dictionary != nullptr && schema->dictionary->release != nullptr) {
    schema->dictionary->release(schema->dictionary);
  }
  schema->release = nullptr;
}

}  // namespace

int64_t SchemaNode::Count() const {
  int64_t count = 1;
  for (const auto& child : children) count += child->Count();
  if (dictionary) count += dictionary->Count();
  return count;
}

bool IsMetadata(const std::string& metadata) {
  size_t position = 0;
  auto read = [&](int32_t* value) {
    if (metadata.size() - position < sizeof(int32_t)) return false;
    std::memcpy(value, metadata.data() + position, sizeof(int32_t));
    position += sizeof(int32_t);
    return *value >= 0;
  };
  int32_t pairs = 0;
  if (!read(&pairs)) return false;
  for (int64_t i = 0; i < int64_t{pairs} * 2; i++) {
    int32_t length = 0;
    if (!read(&length) || metadata.size() - position < static_cast<size_t>(length)) return false;
    position += static_cast<size_t>(length);
  }
  return position == metadata.size();
}

SchemaCopy::SchemaCopy(const SchemaNode& root, ArrowSchema* out) {
  // The root's own struct is the caller's; every other node is pointed to once, from its parent.
  const auto count = static_cast<size_t>(root.Count() - 1);
  structs_.resize(count);
  pointers_.resize(count);
  Fill(root, out);
}

void SchemaCopy::Fill(const SchemaNode& node, ArrowSchema* out) {
  out->format = node.format.c_str();
  out->name = node.name.c_str();
  out->metadata = node.metadata.empty() ? nullptr : node.metadata.data();
  out->flags = node.flags;
  out->n_children = static_cast<int64_t>(node.children.size());
  ArrowSchema** pointers = pointers_.data() + next_pointer_;
  next_pointer_ += node.children.size();
  out->children = node.children.empty() ? nullptr : pointers;
  for (size_t i = 0; i < node.children.size(); i++) {
    pointers[i] = &structs_[next_struct_++];
    Fill(*node.children[i], pointers[i]);
  }
  out->dictionary = nullptr;
  if (node.dictionary) {
    out->dictionary = &structs_[next_struct_++];
    Fill(*node.dictionary, out->dictionary);
  }
  out->release = MarkReleased;
  out->private_data = nullptr;
}

}  // namespace arrow_scan
