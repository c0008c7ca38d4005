"""Sells a unit under redis-py's Lock, and does what else its users do: client.py URL PROTOCOL.

The test that runs it holds the write of the stock until the lock has been renewed, and loses a reply.
"""

import sys
import threading

import redis

url, protocol = sys.argv[1], int(sys.argv[2])
options = {"protocol": protocol} if protocol != 2 else {}
r = redis.Redis.from_url(url, **options)


def a_lock():
    return r.lock("lock", timeout=60, thread_local=False)


def wait():
    with a_lock():
        pass


lock = a_lock()
assert lock.acquire()
assert not a_lock().acquire(blocking=False)
waiter = threading.Thread(target=wait)
waiter.start()
written = threading.Event()


def renew():
    while not written.wait(0.1):
        assert lock.extend(60, replace_ttl=True)


renewer = threading.Thread(target=renew)
renewer.start()
r.set("stock", int(r.get("stock")) - 1)
written.set()
renewer.join()
lock.release()
waiter.join()

threading.Timer(0.1, lambda: r.lpush("queue", "x")).start()
assert list(r.blpop("queue", timeout=30)) == [b"queue", b"x"]

pipeline = r.pipeline(transaction=False)
for _ in range(16):
    pipeline.incr("n")
assert pipeline.execute() == list(range(1, 17))

with r.pipeline() as p:
    p.watch("n")
    n = int(p.get("n"))
    p.multi()
    p.set("n", n + 1).get("n")
    assert p.execute() == [True, b"17"]

channels = r.pubsub(ignore_subscribe_messages=True)
channels.subscribe("one", "two")
channels.psubscribe("three*")
for _ in range(3):
    assert channels.get_message(timeout=30) is None  # the confirmations
r.publish("two", "x")
r.publish("three", "y")
assert [channels.get_message(timeout=30)["data"] for _ in range(2)] == [b"x", b"y"]
channels.close()

try:
    r.incr("lost")
except redis.ConnectionError:
    pass
assert int(r.get("lost")) >= 1
