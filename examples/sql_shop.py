r"""A shop with its stock in SQL and its lock in Redis: PORT=8001 REDIS_URL=redis://127.0.0.1:6379
DATABASE_URL=postgresql://postgres:secret@127.0.0.1:5432/postgres python3 sql_shop.py

POST /decrease sells one unit: 200 sold, 409 sold out, 423 the lock was busy for 3 s, 500 after an exception. With the
argument release-first it releases its lock before its transaction commits. To try it, with redis-py and psycopg2:

    sql='psql -qAt postgresql://postgres:secret@127.0.0.1:5432/postgres -c'
    loadtest try --db 127.0.0.1:5432 \
      --setup "$sql 'CREATE TABLE IF NOT EXISTS stock (product int PRIMARY KEY, units int);
                     CREATE TABLE IF NOT EXISTS sales (product int)'" \
      --set "$sql 'DELETE FROM sales; DELETE FROM stock; INSERT INTO stock VALUES (10000, {n})'" \
      --left "$sql 'SELECT units FROM stock'" --sales "$sql 'SELECT count(*) FROM sales'" \
      -- env DATABASE_URL=postgresql://postgres:secret@{db_host}:{db_port}/postgres python3 examples/sql_shop.py

On MariaDB, with pymysql: --db 127.0.0.1:3306, DATABASE_URL=mysql://root:secret@{db_host}:{db_port}/shop, and
sql='mariadb -h 127.0.0.1 -P 3306 -u root -psecret shop -Ne'
"""
import contextlib, os, sys, time, traceback, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import redis

DATABASE = urlsplit(os.environ["DATABASE_URL"])
if DATABASE.scheme == "mysql":
    import pymysql as driver
else:
    import psycopg2 as driver

client = redis.Redis.from_url(os.environ["REDIS_URL"])
compare_and_delete = client.register_script(
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0")

@contextlib.contextmanager
def lock():
    token, end = str(uuid.uuid4()), time.monotonic() + 3
    while not client.set("lock:10000", token, nx=True, px=2000):
        if time.monotonic() > end:
            raise redis.exceptions.LockError
        time.sleep(0.1)
    try:
        yield
    finally:
        compare_and_delete(["lock:10000"], [token])

@contextlib.contextmanager
def transaction():
    connection = driver.connect(host=DATABASE.hostname, port=DATABASE.port, user=DATABASE.username,
                                password=DATABASE.password, database=DATABASE.path[1:])
    with contextlib.closing(connection):  # which rolls back what was not committed
        yield connection.cursor()
        connection.commit()

def take_one(sql):
    sql.execute("SELECT units FROM stock WHERE product = 10000")  # read
    left = sql.fetchone()[0]
    if left < 1:
        return 409
    sql.execute("UPDATE stock SET units = %s WHERE product = 10000", [left - 1])  # write
    sql.execute("INSERT INTO sales VALUES (10000)")
    return 200

def sell():
    if "release-first" in sys.argv:
        with transaction() as sql, lock():  # the commit comes last, when another order may have read the old number
            return take_one(sql)
    with lock(), transaction() as sql:  # the release comes last
        return take_one(sql)

class Shop(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            status = sell() if self.path == "/decrease" else 404
        except redis.exceptions.LockError:
            status = 423
        except Exception:
            traceback.print_exc()
            status = 500
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

ThreadingHTTPServer.request_queue_size = 1024  # a crowd comes at once
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
