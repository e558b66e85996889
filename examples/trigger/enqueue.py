# Asks Tether to look at one Service now, and waits for what comes of it.
#
#   pip install bullmq
#   TETHER_REDIS_URL=redis://… python3 enqueue.py shop/web
import asyncio
import json
import os
import sys

from bullmq import Queue
from redis.asyncio import Redis

URL = os.environ["TETHER_REDIS_URL"]
# The braces are part of the prefix.
PREFIX = "{" + os.environ.get("TETHER_REDIS_PREFIX", "tether") + "}"


async def outcome(job_id):
    """What came of a job: the worker writes it into a stream, which lives for two minutes."""
    stream, after = f"{PREFIX}:outcome:service:{job_id}", "0"
    async with Redis.from_url(URL, decode_responses=True) as redis:
        while True:
            for _, entries in await redis.xread({stream: after}, block=5000) or []:
                for after, fields in entries:
                    entry = json.loads(fields["entry"])
                    if entry["kind"] != "retry":
                        return entry
                    print("put off:", entry["reason"])


async def main(key):
    queue = Queue("service", {"connection": URL, "prefix": PREFIX})
    job = await queue.add("reconcile", {"key": key, "reason": "asked for by enqueue.py"})
    print(f"{key} is job {job.id}")
    entry = await asyncio.wait_for(outcome(job.id), timeout=60)
    await queue.close()
    if entry["kind"] == "failed":
        sys.exit(f"refused: {entry['reason']}")
    result = entry["result"]
    print(f"done: {result['created']} created, {result['updated']} updated")


asyncio.run(main(sys.argv[1]))
