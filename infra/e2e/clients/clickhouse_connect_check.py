"""Uses Python's clickhouse-connect against a store: `clickhouse_connect_check.py <host> <port>`.

Prints one line per check and ends with status 1 at the first that fails."""

import datetime
import io
import sys

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError

HOST, PORT = sys.argv[1], int(sys.argv[2])
HARD = "quote ' back\\slash \"double\" tab\t newline\n unicode \u65e5\u672c\U0001f600 {brace} %s ; -- /* */"


def check(name, got, expected):
    if got != expected:
        print(f"FAILED {name}: expected {repr(expected)[:600]}, got {repr(got)[:600]}")
        sys.exit(1)
    print(f"ok {name}")


def connect(**options):
    return clickhouse_connect.get_client(host=HOST, port=PORT, **options)


def basics(client):
    check("ping", client.ping(), True)
    check("version", client.server_version.split(".")[0].isdigit(), True)
    check("select", client.query("SELECT 1 + 1").result_rows, [(2,)])
    check("command", client.command("SELECT 'x'"), "x")
    check("show", "system" in client.command("SHOW DATABASES"), True)
    client.command("CREATE DATABASE IF NOT EXISTS connect_check")
    client.command("DROP TABLE IF EXISTS connect_check.rows")
    client.command(
        "CREATE TABLE connect_check.rows (id UInt64, name LowCardinality(String), text String, at DateTime64(6, 'UTC'),"
        " score Float64, tags Array(String), maybe Nullable(Int32)) ENGINE = MergeTree ORDER BY id"
        " SETTINGS non_replicated_deduplication_window = 100"
    )
    check("describe", client.query("DESCRIBE TABLE connect_check.rows").row_count, 7)


def rows_of(count):
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)
    return [[i, f"name {i % 3}", HARD, at, i / 4, ["a'", "\\b"], None if i % 2 else i] for i in range(count)]


COLUMNS = ["id", "name", "text", "at", "score", "tags", "maybe"]


def inserts(client):
    for compression in ("lz4", "zstd", "gzip", False):
        client.command("TRUNCATE TABLE connect_check.rows")
        with connect(database="connect_check", compress=compression) as other:
            summary = other.insert("rows", rows_of(1000), column_names=COLUMNS)
            check(f"insert, compress={compression}: written_rows", summary.written_rows, 1000)
            result = other.query("SELECT id, name, text, at, score, tags, maybe FROM rows ORDER BY id")
            got = [[*row[:3], row[3].replace(tzinfo=datetime.timezone.utc), *row[4:]] for row in result.result_rows]
            check(f"insert, compress={compression}: rows", got, rows_of(1000))
    token = {"insert_deduplication_token": "twice"}
    client.command("TRUNCATE TABLE connect_check.rows")
    for _ in range(2):
        client.insert("connect_check.rows", rows_of(10), column_names=COLUMNS, settings=token)
    check("token", client.command("SELECT count() FROM connect_check.rows"), 10)
    client.raw_insert("connect_check.rows", ["id", "text"], '{"id": 77, "text": "raw"}\n', fmt="JSONEachRow")
    check("raw insert", client.command("SELECT text FROM connect_check.rows WHERE id = 77"), "raw")
    client.insert("connect_check.rows", [], column_names=COLUMNS)


def reads(client):
    bound = client.query("SELECT {text:String} AS t, {ids:Array(UInt32)} AS i", parameters={"text": HARD, "ids": [1, 2]})
    check("bound parameters", bound.result_rows, [(HARD, [1, 2])])
    check("settings", client.query("SELECT getSetting('max_block_size')", settings={"max_block_size": 1234}).result_rows, [(1234,)])
    check("settings do not leak", client.query("SELECT getSetting('max_block_size') = 1234").result_rows, [(0,)])
    with client.query_row_block_stream("SELECT number FROM numbers(300000)") as stream:
        check("stream", sum(len(block) for block in stream), 300000)
    frame = client.query_df("SELECT number AS n, toString(number) AS s FROM numbers(5)")
    check("pandas", frame["s"].tolist(), ["0", "1", "2", "3", "4"])
    arrow = client.query_arrow("SELECT number AS n FROM numbers(1000)")
    check("arrow", arrow.num_rows, 1000)
    raw = client.raw_query("SELECT number AS n FROM numbers(3)", fmt="JSONEachRow")
    check("raw query", raw, b'{"n":0}\n{"n":1}\n{"n":2}\n')
    parquet = client.raw_query("SELECT number AS n FROM numbers(10)", fmt="Parquet")
    import pyarrow.parquet

    check("parquet", pyarrow.parquet.read_table(io.BytesIO(parquet)).num_rows, 10)


def errors(client):
    for statement, code in (("SELECT * FROM no_such_table", "60"), ("SELEC 1", "62"), ("SELECT 1; SELECT 2", "62")):
        try:
            client.command(statement)
        except ClickHouseError as error:
            check(f"error {code}", f"code {code}" in str(error).lower() or f"Code: {code}" in str(error), True)
        else:
            check(f"error {code}", "no error", "an error")


with connect() as client:
    basics(client)
    inserts(client)
    reads(client)
    errors(client)
    client.command("DROP DATABASE connect_check")
print("all checks passed")
