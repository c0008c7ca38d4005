"""redis-py's Lock, over from_url or over Redis(), whose defaults differ: Redis() sends a failed command again."""
import os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import redis
from redis.exceptions import LockError

url = os.environ["REDIS_URL"]
if "client" in sys.argv:
    client = redis.Redis(host=urlsplit(url).hostname, port=urlsplit(url).port)
else:
    client = redis.from_url(url)


def sell():
    lock = client.lock("lock:product_10000", timeout=2, blocking_timeout=5)
    if not lock.acquire():
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
        except (redis.RedisError, LockError) as failure:
            body = repr(failure).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
