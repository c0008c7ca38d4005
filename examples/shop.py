"""A shop over redis-py's Lock: PORT=8001 REDIS_URL=redis://127.0.0.1:6379 python3 shop.py

POST /decrease sells one unit: 200 sold, 409 sold out, 423 the lock was busy for 3 s, 500 after an exception.
"""
import os, traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import redis

STOCK = "ProductStock_10000"
client = redis.Redis.from_url(os.environ["REDIS_URL"])

def sell():
    lock = client.lock("lock:10000", timeout=2, blocking_timeout=3)  # seconds
    if not lock.acquire():
        return 423
    try:
        left = int(client.get(STOCK) or 0)  # read
        if left < 1:
            return 409
        client.set(STOCK, left - 1)  # write
        return 200
    finally:
        lock.release()

class Shop(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            status = sell() if self.path == "/decrease" else 404
        except Exception:
            traceback.print_exc()
            status = 500
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

ThreadingHTTPServer.request_queue_size = 1024  # a crowd comes at once
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
