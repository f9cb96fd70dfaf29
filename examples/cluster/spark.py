"""Videos as a Spark job; not run by our tests. spark-submit spark.py SHARDS VIDEO…

Every executor has the program `stitch`, and sees the videos under the same paths or URLs.
"""

import json
import subprocess
import sys

from pyspark.sql import SparkSession


def index(videos):
    """One run of the program for each partition. Spark may repeat it: a shard that is there is not written again."""
    videos = list(videos)
    if videos:
        command = ["stitch", "--json", "--quiet", "index", "--out", out, "--", *videos]
        ran = subprocess.run(command, capture_output=True, text=True)
        if not ran.stdout.strip():
            raise RuntimeError(ran.stderr)  # the executor is broken, not a video: Spark tries another one
        yield json.loads(ran.stdout.splitlines()[-1])


out, *videos = sys.argv[1:]
spark = SparkSession.builder.appName("stitch").getOrCreate()
reports = spark.sparkContext.parallelize(videos, max(1, len(videos) // 8)).mapPartitions(index).collect()
for path, reason in (failure for report in reports for failure in report["failed"]):
    print(f"{path}: {reason}", file=sys.stderr)
print({name: sum(report[name] for report in reports) for name in ("found", "indexed", "unchanged")})
