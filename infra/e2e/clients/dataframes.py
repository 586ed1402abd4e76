"""clickhouse-connect: reads tables as pandas DataFrames, and writes a DataFrame to a new table. Environment: CLICKHOUSE."""

import os
import urllib.parse

import clickhouse_connect

at = urllib.parse.urlparse(os.environ["CLICKHOUSE"])
client = clickhouse_connect.get_client(host=at.hostname, port=at.port)
steps = client.query_df("SELECT run_id, step, reward_mean, at FROM turnstream.steps ORDER BY run_id, step")
assert len(steps) > 0 and steps["reward_mean"].dtype == "float64", steps.dtypes
print(f"ok {len(steps)} steps as a DataFrame, mean reward {steps['reward_mean'].mean():.3f}")

client.command("CREATE DATABASE IF NOT EXISTS client_check")
client.command("CREATE OR REPLACE TABLE client_check.steps (run_id String, step Int32, reward_mean Float64, at DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY (run_id, step)")
try:
    client.insert_df("client_check.steps", steps)
    back = client.query_df("SELECT run_id, step, reward_mean, at FROM client_check.steps ORDER BY run_id, step")
    assert back["step"].tolist() == steps["step"].tolist() and back["reward_mean"].tolist() == steps["reward_mean"].tolist()
    print("ok a DataFrame was inserted and is the same when it is read")
    arrow = client.query_arrow("SELECT trajectory_id, turn, tool_ms FROM turnstream.turns LIMIT 1000")
    assert arrow.num_columns == 3 and arrow.num_rows > 0
    print(f"ok {arrow.num_rows} turns as an Arrow table")
finally:
    client.command("DROP DATABASE client_check")
