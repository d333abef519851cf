"""The line that matters of what Spark says when something goes wrong."""

import re

from spark_ingest.problems import LoadProblem

# An error of ours out of a worker, up to what Spark puts behind it; and an error of Spark's own, by its name.
OURS = re.compile(r"spark_ingest\.problems\.\w+: (.*?)(?:\n\s*SQLSTATE|\n\s+at |\n\n|\Z)", re.DOTALL)
SPARKS = re.compile(r"\[[A-Z][A-Z_.0-9]+\] [^\n]*")


def explain(problem: BaseException) -> str:
    text = str(problem).strip()
    if isinstance(problem, LoadProblem):
        return text
    if ours := OURS.search(text):
        return ours[1].strip()
    if sparks := SPARKS.search(text):
        return sparks[0]
    return text.partition("\n\tat ")[0] or type(problem).__name__
