"""Files as a DataFrame that knows where each row stands in them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_ingest.explaining import explain
from spark_ingest.layout import FIELDS
from spark_ingest.places import BITS
from spark_ingest.problems import LoadProblem

FORMATS = ("json", "parquet", "csv", "delta")
UNREADABLE = "_unreadable"
DELTA = (
    "--conf spark.jars.packages=io.delta:delta-spark_4.2_2.13:4.4.0 "
    "--conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension "
    "--conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
)
MISSING = ("DATA_SOURCE_NOT_FOUND", "DELTA_CONFIGURE_SPARK_SESSION")
ROWS_IN_A_BYTE = 1 << 7  # of a file of Delta's, at the most, which says where blocks begin but does not count its rows
MOST_FILES = 1 << (63 - BITS)


@dataclass(frozen=True)
class Input:
    """The rows, and which columns say where they stand and which cannot be read."""

    rows: DataFrame
    columns: list[str]  # those that came from the source
    place: str | None = None
    block: str | None = None
    unreadable: str | None = None


def read_input(
    spark: SparkSession,
    source: str,
    kind: str,
    *,
    mapped: Mapping[str, str],
    place: str | None,
    options: Mapping[str, str],
) -> Input:
    try:
        rows = _read(spark, source, kind, mapped=mapped, place=place, options=options)
        columns = rows.columns
        unreadable = UNREADABLE if UNREADABLE in columns else None
        if place:
            return Input(_apart(spark, rows) if kind == "delta" else rows, columns, place=place, unreadable=unreadable)
        files = rows.inputFiles()
        if kind == "parquet":
            placed = _placed(spark, rows, files, F.col("_metadata.row_index"))
            return Input(placed, columns, place="_place", unreadable=unreadable)
        begin = F.col("_metadata.file_block_start")
        if kind == "delta":
            placed = _placed(spark, rows, _escaped(spark, files), begin * ROWS_IN_A_BYTE)
            return Input(_apart(spark, placed), columns, block="_place", unreadable=unreadable)
        return Input(_placed(spark, rows, files, begin), columns, block="_place", unreadable=unreadable)
    except (PySparkException, Py4JJavaError) as problem:
        said = explain(problem)
        if any(name in said for name in MISSING):
            raise LoadProblem(f"This Spark cannot read {kind}. Add what it needs, for its version: {DELTA}") from None
        raise LoadProblem(f"{source} cannot be read as {kind}: {said}") from None


def _read(
    spark: SparkSession,
    source: str,
    kind: str,
    *,
    mapped: Mapping[str, str],
    place: str | None,
    options: Mapping[str, str],
) -> DataFrame:
    reader = spark.read.format(kind).options(columnNameOfCorruptRecord=UNREADABLE, mode="PERMISSIVE")
    if kind == "json":
        # As the text that stands there: a payload is signed byte for byte, and labels are held against the rules.
        wanted = {mapped.get(field, field) for field in FIELDS}
        strict = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
        return reader.options(**strict | dict(options)).schema(_schema(sorted(wanted), place)).load(source)
    if kind == "csv":
        given = {"header": "true", "escape": '"', "enforceSchema": "false", **options}
        header = spark.read.format("csv").options(**given).load(source).columns
        return reader.options(**given).schema(_schema(header, place)).load(source)
    return spark.read.format(kind).options(**options).load(source)


def _schema(columns: list[str], place: str | None) -> StructType:
    fields = [StructField(name, LongType() if name == place else StringType()) for name in columns]
    if place and place not in columns:
        fields.append(StructField(place, LongType()))
    return StructType([*fields, StructField(UNREADABLE, StringType())])


def _escaped(spark: SparkSession, files: list[str]) -> list[str]:
    """As `_metadata.file_path` has them: Delta lists its files as they are called."""
    jvm: Any = spark._jvm
    return [jvm.org.apache.hadoop.fs.Path(file).toUri().toString() for file in files]


def _apart(spark: SparkSession, rows: DataFrame) -> DataFrame:
    """The same rows, planned by themselves: in the plan of a write, Delta reads no table with deletion vectors."""
    return DataFrame(spark._jsparkSession.createDataFrame(rows._jdf.toJavaRDD(), rows._jdf.schema()), spark)


def _placed(spark: SparkSession, rows: DataFrame, files: list[str], within: Column) -> DataFrame:
    """With a column that sorts the input: the number of the file by name, and what sorts within the file."""
    # Spark writes file:/// here, and file:/ in the column below.
    files = sorted(re.sub("^file:/+", "file:/", file) for file in files)
    if len(files) > MOST_FILES:
        raise LoadProblem(f"There are {len(files):,} files: a load may have {MOST_FILES:,}. Load them in parts.")
    numbered = spark.createDataFrame(list(enumerate(files)), "_number bigint, _file string")
    at = rows.select("*", F.col("_metadata.file_path").alias("_path"), within.alias("_within"))
    # A broadcast join keeps the order of the rows, and what is not found would be null, which is refused.
    joined = at.join(F.broadcast(numbered), at["_path"] == numbered["_file"], "left")
    place = F.shiftleft(F.col("_number"), BITS) + F.col("_within")
    return joined.select(*rows.columns, place.alias("_place"))
