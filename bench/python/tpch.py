"""TPC-H lineitem by its real generator, as one Arrow IPC stream.

tpch.py SCALE BATCH_ROWS OUT
"""

import os
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

scale, batch_rows, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with tempfile.TemporaryDirectory(dir=os.path.dirname(out)) as folder:
    generator = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
    subprocess.run(
        [generator, "parquet", "-q", "-s", scale, "--tables=lineitem", f"--output-dir={folder}"],
        check=True,
    )
    source = pq.ParquetFile(os.path.join(folder, "lineitem.parquet"))
    schema = pa.schema(
        [
            pa.field(field.name, pa.string() if pa.types.is_string_view(field.type) else field.type)
            for field in source.schema_arrow
        ]
    )
    with pa.OSFile(out + ".part", "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        rest = None
        for batch in source.iter_batches(batch_size=batch_rows):
            table = pa.Table.from_batches([batch]).cast(schema)
            table = pa.concat_tables([rest, table]) if rest is not None else table
            while table.num_rows >= batch_rows:
                writer.write_table(table.slice(0, batch_rows).combine_chunks())
                table = table.slice(batch_rows)
            rest = table
        if rest is not None and rest.num_rows > 0:
            writer.write_table(rest.combine_chunks())
os.rename(out + ".part", out)
