"""A pattern, no library: the key is deleted without a look at its owner, as ShedLock did before its pull request 2584."""
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import time, uuid

import redis

client = redis.from_url(os.environ["REDIS_URL"])


def acquire(deadline):
    while not client.set("lock:product_10000", uuid.uuid4().hex, nx=True, px=2000):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def sell():
    if not acquire(time.monotonic() + 5):
        return 423
    try:
        left = int(client.get("ProductStock_10000") or 0)
        if left < 1:
            return 409
        client.set("ProductStock_10000", left - 1)
        return 200
    finally:
        client.delete("lock:product_10000")


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_message = lambda *_: None

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, body = 500, b""
        try:
            status = sell()
        except redis.RedisError as failure:
            body = repr(failure).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
