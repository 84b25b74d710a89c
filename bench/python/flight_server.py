"""An Arrow Flight server whose DoPut inserts through DuckDB, on a free loopback port.

flight_server.py DB -> its port on standard output; stops when standard input ends
"""

import sys
import threading

import duckdb
import pyarrow.flight as flight


class Server(flight.FlightServerBase):
    def __init__(self, target):
        super().__init__("grpc://127.0.0.1:0")
        self.connection = duckdb.connect(target)

    def do_put(self, context, descriptor, reader, writer):
        table = descriptor.path[0].decode()
        connection = self.connection.cursor()
        batches = reader.to_reader()
        empty = batches.schema.empty_table()  # noqa: F841
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS SELECT * FROM empty")
        connection.execute("BEGIN")
        rows = connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM batches").fetchone()[0]
        connection.execute("COMMIT")
        writer.write(str(rows).encode())


server = Server(sys.argv[1])
print(server.port, flush=True)
threading.Thread(target=server.serve, daemon=True).start()
sys.stdin.read()
server.shutdown()
server.connection.close()
