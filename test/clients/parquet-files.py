"""Parquet as pyarrow writes it, and what a table must hold once DuckDB's reader has loaded it.

write FOLDER      one file for each way to write the same rows
check DB FOLDER   every table of the database against those rows, value by value
"""

import datetime as dt
import decimal
import json
import struct
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 2_500


def holes(values):
    return [None if n % 7 == 3 else value for n, value in enumerate(values)]


def column(type_, make):
    return pa.array(holes([make(n) for n in range(ROWS)]), type_)


def rows():
    day = dt.date(1969, 11, 30)
    at = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)
    utc = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.timezone.utc)
    number = decimal.Decimal
    columns = {
        "i": pa.array(range(ROWS), pa.int32()),
        "bool": column(pa.bool_(), lambda n: n % 3 == 0),
        "i8": column(pa.int8(), lambda n: n % 256 - 128),
        "i16": column(pa.int16(), lambda n: n - 1_000),
        "i64": column(pa.int64(), lambda n: n * 5_000_000_000 - 2**62),
        "u8": column(pa.uint8(), lambda n: n % 256),
        "u16": column(pa.uint16(), lambda n: n * 26),
        "u32": column(pa.uint32(), lambda n: 2**32 - 1 - n),
        "u64": column(pa.uint64(), lambda n: 2**64 - 1 - n),
        "f16": column(pa.float16(), lambda n: n % 100 / 4),
        "f32": column(pa.float32(), lambda n: n / 8),
        "f64": column(pa.float64(), lambda n: n / 7),
        "d9": column(pa.decimal128(9, 2), lambda n: number(n * 997 - 5_000).scaleb(-2)),
        "d18": column(pa.decimal128(18, 6), lambda n: number(n * 10**13).scaleb(-6)),
        "d38": column(pa.decimal128(38, 10), lambda n: number((10**37 + n) * (-1) ** n).scaleb(-10)),
        "text": column(pa.string(), lambda n: f"row {n} é€😀"[: n % 12]),
        "large": column(pa.large_string(), lambda n: "x" * (n % 40)),
        "word": column(pa.string(), lambda n: f"word {n % 5}").dictionary_encode(),
        "bytes": column(pa.binary(), lambda n: bytes([n % 256, 0, 255])),
        "fixed": column(pa.binary(5), lambda n: struct.pack(">IB", n, 1)),
        "day": column(pa.date32(), lambda n: day + dt.timedelta(days=n)),
        "day64": column(pa.date64(), lambda n: day + dt.timedelta(days=n)),
        "time_ms": column(pa.time32("ms"), lambda n: dt.time(n % 24, n % 60, 1, 5_000)),
        "time_us": column(pa.time64("us"), lambda n: dt.time(n % 24, n % 60, 1, n)),
        "at_s": column(pa.timestamp("s"), lambda n: at.replace(microsecond=0) + dt.timedelta(hours=n)),
        "at_ms": column(pa.timestamp("ms"), lambda n: at.replace(microsecond=7_000) + dt.timedelta(hours=n)),
        "at_us": column(pa.timestamp("us"), lambda n: at + dt.timedelta(hours=n)),
        "at_ns": pa.array(holes(range(1_764_504_000_123_456_789, 1_764_504_000_123_456_789 + ROWS)), pa.int64()).cast(pa.timestamp("ns")),
        "at_utc": column(pa.timestamp("us", "UTC"), lambda n: utc + dt.timedelta(seconds=n)),
        "at_zone": column(pa.timestamp("ms", "Europe/Berlin"), lambda n: utc + dt.timedelta(seconds=n)),
        "span": column(pa.duration("us"), lambda n: dt.timedelta(microseconds=n)),
        "list": column(pa.list_(pa.int64()), lambda n: [n, None, n + 1][: n % 4]),
        "large_list": column(pa.large_list(pa.string()), lambda n: ["a", None, ""][: n % 4]),
        "three": column(pa.list_(pa.float32(), 3), lambda n: [n, n + 0.5, n + 1]),
        "lists": column(pa.list_(pa.list_(pa.date32())), lambda n: [[day], None, [], [day, None]][: n % 5]),
        "struct": column(
            pa.struct([("x", pa.int32()), ("inner", pa.struct([("y", pa.string()), ("z", pa.list_(pa.time64("us")))]))]),
            lambda n: {"x": n, "inner": None if n % 5 == 0 else {"y": f"y{n}", "z": [dt.time(n % 24), None]}},
        ),
        "map": column(pa.map_(pa.string(), pa.int32()), lambda n: [(f"k{k}", k) for k in range(n % 3)]),
        "nothing": pa.nulls(ROWS),
        "must": pa.array(range(ROWS), pa.int64()),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), column(pa.binary(16), lambda n: uuid.UUID(int=2**100 + n).bytes)),
        "json": pa.ExtensionArray.from_storage(pa.json_(), column(pa.string(), lambda n: json.dumps({"n": n}))),
    }
    table = pa.table(columns)
    schema = table.schema
    at_must = schema.get_field_index("must")
    return table.cast(schema.set(at_must, schema.field(at_must).with_nullable(False)))


WAYS = {
    "plain": dict(compression="none", use_dictionary=False),
    "snappy": dict(compression="snappy"),
    "gzip": dict(compression="gzip", data_page_version="2.0"),
    "brotli": dict(compression="brotli"),
    "zstd": dict(compression="zstd", row_group_size=700, data_page_size=2_000),
    "lz4": dict(compression="lz4"),
    "old": dict(version="1.0", store_schema=False, coerce_timestamps="us", allow_truncated_timestamps=True),
    "middle": dict(version="2.4", write_statistics=False, coerce_timestamps="us", allow_truncated_timestamps=True),
    "checked": dict(write_page_checksum=True, write_page_index=True),
    "integers": dict(store_decimal_as_integer=True),
    "flavor": dict(flavor="spark"),
    "encodings": dict(
        use_dictionary=False,
        column_encoding={
            "i64": "DELTA_BINARY_PACKED",
            "text": "DELTA_BYTE_ARRAY",
            "large": "DELTA_LENGTH_BYTE_ARRAY",
            "f64": "BYTE_STREAM_SPLIT",
            "bool": "RLE",
        },
    ),
    "by_column": dict(compression={"i": "zstd", "text": "gzip", "d38": "snappy"}),
}


def write(folder):
    table = rows()
    for way, options in WAYS.items():
        pq.write_table(table, f"{folder}/{way}.parquet", **options)
    point = lambda n: struct.pack("<BIdd", 1, 1, n, -n)
    geometry = pa.table({"i": range(10), "g": pa.array([point(n) for n in range(10)], pa.binary())})
    geo = {"version": "1.1.0", "primary_column": "g", "columns": {"g": {"encoding": "WKB", "geometry_types": ["Point"]}}}
    pq.write_table(geometry.replace_schema_metadata({"geo": json.dumps(geo)}), f"{folder}/geo.parquet")


def plain(value):
    """A value as both sides can say it."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, uuid.UUID):
        return str(value)
    return value


def values(column):
    type_ = column.type
    if isinstance(type_, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], type_.storage_type)
        if type_ == pa.uuid():
            return [None if one is None else str(uuid.UUID(bytes=one)) for one in column.to_pylist()]
        type_ = column.type
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return column.cast(pa.int64()).to_pylist()
    return [plain(one) for one in column.to_pylist()]


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def same_unit(type_, numbers, unit):
    have, wanted = PER_SECOND[type_.unit], PER_SECOND[unit]
    return [None if one is None else one * wanted // have for one in numbers]


def check(database, folder):
    import duckdb

    connection = duckdb.connect(database, read_only=True)
    connection.execute("SET TimeZone = 'UTC'")
    wanted = rows()
    for way in WAYS:
        found = connection.execute(f'SELECT * FROM "{way}" ORDER BY i').to_arrow_table()
        assert found.column_names == wanted.column_names, (way, found.column_names)
        for name in wanted.column_names:
            want, got = wanted[name], found[name]
            unit = getattr(got.type, "unit", None)
            left, right = values(want), values(got)
            if pa.types.is_timestamp(want.type):
                left = same_unit(want.type, left, unit)
            if left != right:
                at = next(n for n in range(ROWS) if left[n] != right[n])
                raise SystemExit(f"{way}.{name}: row {at} is {right[at]!r} ({got.type}), not {left[at]!r} ({want.type})")
    geometry = connection.execute("SELECT i, g::VARCHAR FROM geo ORDER BY i").fetchall()
    assert geometry == [(n, f"POINT ({n} {-n})") for n in range(10)], geometry
    print(f"{len(WAYS)} ways, {len(wanted.column_names)} columns, {ROWS} rows: equal")


if __name__ == "__main__":
    dict(write=write, check=check)[sys.argv[1]](*sys.argv[2:])
