"""A pattern, no library: SETNX, then EXPIRE, then a look at the owner, as Laravel's lock was before its issue 31166."""
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import time, uuid

import redis

client = redis.from_url(os.environ["REDIS_URL"])
release = client.register_script("""
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0
""")


def acquire(token, deadline):
    while not client.setnx("lock:product_10000", token):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    client.expire("lock:product_10000", 2)
    return True


def sell():
    token = uuid.uuid4().hex
    if not acquire(token, time.monotonic() + 5):
        return 423
    try:
        left = int(client.get("ProductStock_10000") or 0)
        if left < 1:
            return 409
        client.set("ProductStock_10000", left - 1)
        return 200
    finally:
        release(keys=["lock:product_10000"], args=[token])


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
