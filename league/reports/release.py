"""Makes a release of redis-py's Lock fail (Redis refuses it, or its task is cancelled), and retries it."""
import asyncio, os

import redis, redis.asyncio
from redis.exceptions import LockError, ResponseError

url = os.environ["REDIS_URL"]
admin = redis.from_url(url)


def refused(name):
    lock = redis.from_url(url).lock(name, timeout=30)
    lock.acquire()
    admin.config_set("min-replicas-to-write", 1)
    try:
        lock.release()
    except ResponseError:
        pass
    admin.config_set("min-replicas-to-write", 0)
    try:
        lock.release()
    except LockError as failure:
        return f"cannot be released again: {failure}"
    return "released at the second try"


async def cancelled(name):
    lock = redis.asyncio.from_url(url).lock(name, timeout=30)
    await lock.acquire()
    task = asyncio.create_task(lock.release())
    task.cancel()
    await asyncio.wait([task])
    try:
        await lock.release()
    except LockError as failure:
        return f"cannot be released again: {failure}"
    return "released at the second try"


for i in range(10):
    print("Lock, refused:", refused(f"key-{i}"), "- key stands:", admin.exists(f"key-{i}"))
    print("asyncio Lock, cancelled:", asyncio.run(cancelled(f"other-{i}")), "- key stands:", admin.exists(f"other-{i}"))
