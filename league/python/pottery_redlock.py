"""pottery's Redlock on one master."""
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import redis
from pottery import Redlock
from pottery.exceptions import PotteryError

client = redis.from_url(os.environ["REDIS_URL"])


def sell():
    lock = Redlock(key="product_10000", masters={client}, auto_release_time=2)
    if not lock.acquire(timeout=5):
        return 423
    try:
        left = int(client.get("ProductStock_10000") or 0)
        if left < 1:
            return 409
        client.set("ProductStock_10000", left - 1)
        return 200
    finally:
        lock.release()


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_message = lambda *_: None

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, body = 500, b""
        try:
            status = sell()
        except (redis.RedisError, PotteryError) as failure:
            body = repr(failure).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
