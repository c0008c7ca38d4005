"""python-redis-lock as its README shows it; with an expiry, with renewal besides, or (bare) with neither."""
import os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import redis
import redis_lock

client = redis.from_url(os.environ["REDIS_URL"])
options = {"expire": 2}
if "renewal" in sys.argv:
    options = {"expire": 2, "auto_renewal": True}
if "bare" in sys.argv:
    options = {}


def sell():
    with redis_lock.Lock(client, "product_10000", **options):
        left = int(client.get("ProductStock_10000") or 0)
        if left < 1:
            return 409
        client.set("ProductStock_10000", left - 1)
        return 200


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_message = lambda *_: None

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, body = 500, b""
        try:
            status = sell()
        except (redis.RedisError, redis_lock.NotAcquired) as failure:
            body = repr(failure).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
