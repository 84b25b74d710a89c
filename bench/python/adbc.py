"""ADBC's adbc_ingest into DuckDB from a pyarrow RecordBatchReader in one process.

adbc.py FILE DB TABLE -> {"seconds", "rows", "extra"} on standard output
"""

import json
import os
import sys
import time

import adbc_driver_duckdb.dbapi
import pyarrow as pa

source, target, table = sys.argv[1:4]
started = time.perf_counter()
with pa.OSFile(source) as stream:
    reader = pa.ipc.open_stream(stream)
    connection = adbc_driver_duckdb.dbapi.connect(target)
    with connection.cursor() as cursor:
        cursor.adbc_ingest(table, reader, mode="create")
        connection.commit()
        seconds = time.perf_counter() - started
        cursor.execute(f"SELECT count(*) FROM {table}")
        rows = cursor.fetchone()[0]
    connection.close()
times = os.times()
print(json.dumps({"seconds": seconds, "rows": rows, "extra": {"CPU s": times.user + times.system}}))
