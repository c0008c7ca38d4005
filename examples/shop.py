"""A shop in memory, as docs/contract.md asks for: with a lock around the sale, or with --naive and none."""
import contextlib, json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

stock, lock = {}, contextlib.nullcontext() if "--naive" in sys.argv else threading.Lock()
ladder = {"instance": "python", "clock": "python", "rungs": [{"number": n, "available": True} for n in ("v0", "v17")]}

def sell(product, quantity):
    with lock:
        left = stock.get(product, 0) - quantity  # read
        if left < 0: return []
        time.sleep(0.001)  # work
        stock[product] = left  # write
        return list(range(left + 1, left + quantity + 1))

class Shop(BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", 65536  # a connection serves many orders, each answer is one write
    log_message = lambda *_: None

    def answer(self, status, members):
        body = json.dumps(members).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        stocks = {"/stock/" + product: {"quantity": left} for product, left in list(stock.items())}
        page = {"/livez": {}, "/rungs": ladder, **stocks}.get(self.path)
        self.answer(404 if page is None else 200, page)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, stock.update({self.path.removeprefix("/stock/"): json.loads(body)["quantity"]}))

    def do_DELETE(self):
        self.answer(200, stock.pop(self.path.removeprefix("/stock/"), None))

    def do_POST(self):
        query = dict(parse_qsl(urlsplit(self.path).query))
        units = sell(query["product"], int(query["quantity"]))
        receipt = {"order": self.headers["X-Request-ID"], "quantity": len(units), "units": units}
        self.answer(200 if units else 409, receipt)

ThreadingHTTPServer.request_queue_size = 1024  # so many may come at once
server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 5000))), Shop)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
