"""Small files that unpack to a great deal."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq


def bomb(folder, kind, rows):
    """A small file that unpacks to `rows` rows."""
    path = folder / kind
    if kind == "rows.csv.gz":
        path.write_bytes(gzip.compress(b"id,x,y\n" + b"1,2,3\n" * rows, 1))
    elif kind == "commas.csv":
        path.write_bytes(b"id,x,y\n" + b",,\n" * rows)
    elif kind == "same.parquet":
        pq.write_table(pa.table({"id": pa.array(np.zeros(rows, dtype=np.int64))}), path, compression="zstd")
    elif kind == "same.arrow":
        zeros = pa.array(np.zeros(rows, dtype=np.int64))
        zeros = pa.table({"id": zeros, "x": zeros, "b": zeros, "c": zeros})
        pyarrow.feather.write_feather(zeros, path, compression="zstd", chunksize=rows)
    else:
        once = pa.DictionaryArray.from_arrays(np.zeros(rows // 100, dtype=np.int32), ["x" * 10_000])
        pq.write_table(pa.table({"id": once}), path, compression="zstd")
    return path


KINDS = ("rows.csv.gz", "commas.csv", "same.parquet", "words.parquet", "same.arrow")
