"""A service that cannot be tried: PORT=8001 REDIS_URL=redis://127.0.0.1:6379 python3 shop.py WHY"""
import os, socket, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

WHY, REDIS = sys.argv[1], urlsplit(os.environ["REDIS_URL"])

def ask(*args):
    """Sends Redis a command, and returns the beginning of its reply."""
    with socket.create_connection((REDIS.hostname, REDIS.port), timeout=5) as redis:
        redis.sendall(("*%d\r\n" % len(args) + "".join("$%d\r\n%s\r\n" % (len(arg), arg) for arg in args)).encode())
        return redis.recv(1000)

def tls():
    """Begins a TLS handshake, as clients of rediss:// do."""
    with socket.create_connection((REDIS.hostname, REDIS.port), timeout=5) as redis:
        redis.sendall(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + b"\0" * 196)
        if not redis.recv(1000): raise ConnectionError("the server has hung up")

if WHY == "dies":
    print("reading the configuration", file=sys.stderr)
    sys.exit("no price list")
if WHY == "shelf": ask("HSET", "shelf", "10000", "5")
if WHY == "deaf": time.sleep(600)

def work():
    """Carries out the orders of the other instance."""
    while True:
        if ask("BLPOP", f"jobs:{3 - NUMBER}", "1").startswith(b"*2"):
            ask("DECR", "ProductStock_10000")
            ask("RPUSH", f"done:{3 - NUMBER}", "1")

if WHY == "hands-over":
    NUMBER = int(ask("INCR", "instances")[1:])
    threading.Thread(target=work, daemon=True).start()

class Handler(BaseHTTPRequestHandler):
    log_message = lambda *_: None

    def do_POST(self):
        status, kind, body = 200, "application/json", b"{}"
        if WHY == "reads": ask("GET", "ProductStock_10000")
        if WHY == "other-hash" and ask("HGET", "inventory", "10000").startswith(b"$-1"): status = 409
        if WHY == "hands-over": ask("RPUSH", f"jobs:{NUMBER}", "1"), ask("BLPOP", f"done:{NUMBER}", "4")
        if WHY == "lock-only": ask("SET", "lock:10000", "token", "NX"), ask("DEL", "lock:10000")
        if WHY == "shelf": ask("HINCRBY", "shelf", "10000", "-1")
        if WHY.isdigit(): status, _ = int(WHY), ask("GET", "ProductStock_10000")
        if WHY == "500": print("KeyError: 'price'", file=sys.stderr)
        if WHY == "cluster": status = 200 if ask("CLUSTER", "SLOTS").startswith(b"*") else 500
        if WHY == "tls":
            try: tls()
            except OSError: status = 500
        if WHY == "sells-out": status, _ = 409, ask("GET", "ProductStock_10000")
        if WHY.startswith("html"):
            status, kind, body = int(WHY[5:]), "text/html", b"<!doctype html><h1>Welcome</h1>"
            ask("GET", "session")
        if WHY == "echoes":
            status, body = 500, ("you are " + self.headers["X-Key"]).encode()
            print("error: no such key", self.headers["X-Key"], file=sys.stderr)
        if WHY == "hangs-up": return
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
