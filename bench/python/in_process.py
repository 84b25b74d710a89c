"""DuckDB for Python, inserting BY NAME from a pyarrow RecordBatchReader in one process.

in_process.py FILE DB TABLE -> {"seconds", "rows", "extra"} on standard output
"""

import json
import os
import sys
import time

import duckdb
import pyarrow as pa

source, target, table = sys.argv[1:4]
started = time.perf_counter()
with pa.OSFile(source) as stream:
    reader = pa.ipc.open_stream(stream)
    connection = duckdb.connect(target)
    empty = reader.schema.empty_table()  # noqa: F841
    connection.execute(f"CREATE TABLE {table} AS SELECT * FROM empty")
    connection.execute("BEGIN")
    rows = connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM reader").fetchone()[0]
    connection.execute("COMMIT")
    seconds = time.perf_counter() - started
    connection.close()
closed = time.perf_counter() - started
times = os.times()
extra = {"until closed s": closed, "CPU s": times.user + times.system}
print(json.dumps({"seconds": seconds, "rows": rows, "extra": extra}))
