"""DoPut of a file into a Flight server, first byte to its answer.

flight_client.py PORT FILE TABLE -> {"seconds", "rows"} on standard output
"""

import json
import sys
import time

import pyarrow as pa
import pyarrow.flight as flight

port, source, table = sys.argv[1:4]
client = flight.connect(f"grpc://127.0.0.1:{port}")
started = time.perf_counter()
with pa.OSFile(source) as stream:
    reader = pa.ipc.open_stream(stream)
    descriptor = flight.FlightDescriptor.for_path(table)
    writer, answers = client.do_put(descriptor, reader.schema)
    for batch in reader:
        writer.write_batch(batch)
    writer.done_writing()
    rows = int(answers.read().to_pybytes())
    writer.close()
print(json.dumps({"seconds": time.perf_counter() - started, "rows": rows}))
