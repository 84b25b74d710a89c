// A schema that DuckDB may ask for any number of times and never gives back.
//
// Ownership rules of this package are numbered in record_batch_stream.h; S1 and S2 live here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arrow_c_data.h"
#include "column_layout.h"

namespace arrow_scan {

// One field: what the C struct points to. Owned by its parent.
struct SchemaNode {
  std::string name;
  std::string format;
  // Encoded as the C data interface says; empty: none.
  std::string metadata;
  int64_t flags = 0;
  // Of the indices where the field is dictionary-encoded.
  ColumnLayout layout;
  std::vector<std::unique_ptr<SchemaNode>> children;
  std::unique_ptr<SchemaNode> dictionary;

  // Nodes in this tree, itself included.
  int64_t Count() const;
};

// True if `metadata` is well formed: a count, then that many pairs of length-prefixed strings, no byte more.
bool IsMetadata(const std::string& metadata);

// One exported copy. S1: all structs of a copy belong to this object and die with it, whether or
// not the consumer calls `release`, which therefore only marks them as released.
class SchemaCopy {
 public:
  // Fills `out` with a struct that points into `root` and this object; both must outlive the consumer's use.
  SchemaCopy(const SchemaNode& root, ArrowSchema* out);
  SchemaCopy(const SchemaCopy&) = delete;
  SchemaCopy& operator=(const SchemaCopy&) = delete;

 private:
  void Fill(const SchemaNode& node, ArrowSchema* out);

  std::vector<ArrowSchema> structs_;
  std::vector<ArrowSchema*> pointers_;
  size_t next_struct_ = 0;
  size_t next_pointer_ = 0;
};

}  // namespace arrow_scan
