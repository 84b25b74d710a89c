"""Tables of one kind of column each, as Arrow IPC streams of 50,000-row batches.

shapes.py NAME ROWS OUT, NAME one of strings, lists, dictionaries, lz4, zstd
"""

import os
import random
import sys

import pyarrow as pa

name, rows, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
random.seed(7)
batch_rows = 50_000
words = ["".join(random.choices("abcdefghij klmnop", k=random.randint(20, 400))) for _ in range(2_000)]


def columns(start, n):
    ids = pa.array(range(start, start + n), pa.int64())
    if name == "lists":
        lists = [[random.randrange(1000) for _ in range(i % 12)] for i in range(n)]
        nested = [[[i, i + 1], []] if i % 3 else None for i in range(n)]
        return {
            "id": ids,
            "values": pa.array(lists, pa.list_(pa.int32())),
            "nested": pa.array(nested, pa.list_(pa.list_(pa.int64()))),
        }
    if name == "dictionaries":
        return {
            "id": ids,
            **{
                f"d{at}": pa.DictionaryArray.from_arrays(
                    pa.array([random.randrange(500) for _ in range(n)], pa.int32()), pa.array(words[:500])
                )
                for at in range(4)
            },
        }
    text = [random.choice(words) for _ in range(n)]
    return {"id": ids, "text": pa.array(text), "other": pa.array(text[::-1])}


options = pa.ipc.IpcWriteOptions(compression=name if name in ("lz4", "zstd") else None)
writer = None
with pa.OSFile(out + ".part", "wb") as sink:
    for start in range(0, rows, batch_rows):
        batch = pa.record_batch(columns(start, min(batch_rows, rows - start)))
        writer = writer or pa.ipc.new_stream(sink, batch.schema, options=options)
        writer.write_batch(batch)
    writer.close()
os.rename(out + ".part", out)
