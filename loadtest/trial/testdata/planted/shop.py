"""A small shop, with a defect in its lock: PORT=8001 REDIS_URL=redis://127.0.0.1:6379 python3 shop.py DEFECT

POST /decrease sells one unit under a lock whose lease is 2 s, or LEASE seconds, of scored 5 s. It answers 200 sold, 409
sold out, 423 busy, or 500 after an exception, with when it held the lock, by its own clock. The shops from right to
remembers-sold-out have no defect; each other one has the one that it is named for.
"""
import os, random, secrets, signal, socket, sys, threading, time, traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import redis as redispy
from redis.backoff import NoBackoff
from redis.retry import Retry

STOCK, LOCK, LINE = "ProductStock_10000", "lock:10000", "line:10000"
SEEN, FENCE, FREED = "seen:10000", "fence:10000", "freed:10000"
IN_FLIGHT, PRICE, ORDERS, BUYERS = "inflight", "price:10000", "orders:10000", "buyers:10000"
LOCKS, SHELF, TOKENS, NEW, SIGNAL = "locks", "shelf", "tokens:10000", "new:10000", "signal:10000"
TABLES, FILL, PAIR = "tables", "fill:10000", ["pair:10000:red", "pair:10000:blue"]
LEASE, RENEWAL, POLL = int(os.environ.get("LEASE", 2)), 0.6, 0.05  # seconds

# Newer versions of redis-py send a command again when its reply is lost. These shops do so only where they say it.
redis = redispy.Redis.from_url(os.environ["REDIS_URL"], socket_timeout=5, retry=Retry(NoBackoff(), 0))
script = redis.register_script
OWNER = "redis.call('GET', KEYS[1])"  # false: nobody
DELETE = script(f"return {OWNER} == ARGV[1] and redis.call('DEL', KEYS[1])")
EXTEND = script(f"return {OWNER} == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2])")
DELETE_BY_PREFIX = script(f"return ({OWNER} or ''):sub(1, 5) == ARGV[1]:sub(1, 5) and redis.call('DEL', KEYS[1])")
EXTEND_OR_SET = script(
    f"return ({OWNER} or ARGV[1]) == ARGV[1] and redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])")
LINE_UP = script("""
if not redis.call('LPOS', KEYS[2], ARGV[1]) then redis.call('RPUSH', KEYS[2], ARGV[1]) end
return redis.call('LINDEX', KEYS[2], 0) == ARGV[1] and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])""")
# The count starts at Redis' own time in microseconds: if its key is lost, the numbers still grow.
ACQUIRE_FENCED = script("""
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local time = redis.call('TIME')
redis.call('SET', KEYS[2], string.format('%.0f', time[1] * 1000000 + time[2]), 'NX')
return redis.call('INCR', KEYS[2])""")
# Whoever reads or writes shows a number. Reading counts too: an older order must not write once a newer one has read.
USE_STOCK = script("""
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return -1 end
redis.call('SET', KEYS[2], ARGV[1])
if ARGV[2] then redis.call('SET', KEYS[1], ARGV[2]) end
return tonumber(redis.call('GET', KEYS[1]) or '0')""")
NOTE_NUMBER = script("""
redis.call('SET', KEYS[2], ARGV[1])
return redis.call('SET', KEYS[1], ARGV[2])""")
COMPARE_WRONG = script("""
return tonumber(ARGV[1]) <= tonumber(redis.call('GET', KEYS[2])) and redis.call('SET', KEYS[1], ARGV[2])""")
TAKE_ONE = script("""
redis.call('SADD', KEYS[2], ARGV[1])
return tonumber(redis.call('GET', KEYS[1]) or '0') > 0 and redis.call('DECR', KEYS[1]) + 1""")
TAKE_BOTH = script("""
if tonumber(redis.call('GET', KEYS[2]) or '0') < 1 then return -1 end
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and redis.call('DECR', KEYS[2]) + 1""")
DRAW_TICKET = script("""
local ticket = redis.call('INCR', KEYS[1])
redis.call('SET', KEYS[2] .. ticket, 1, 'PX', ARGV[1])
return ticket""")
LOOK_AT_TURN = script("""
local turn, mine = tonumber(redis.call('GET', KEYS[1]) or 1), tonumber(ARGV[1])
redis.call('SET', KEYS[2] .. mine, 1, 'PX', ARGV[2])
while turn < mine and redis.call('EXISTS', KEYS[2] .. turn) == 0 do turn = redis.call('INCR', KEYS[1]) end
return turn == mine""")
PASS_TURN = script("""
redis.call('DEL', KEYS[2] .. ARGV[1])
if tonumber(redis.call('GET', KEYS[1])) == tonumber(ARGV[1]) then redis.call('INCR', KEYS[1]) end""")
WRITE_IF_OWNER = script(f"return {OWNER} == ARGV[1] and redis.call('SET', KEYS[2], ARGV[2])")
TAKE_HASH = script("""
return redis.call('HSETNX', KEYS[1], 'owner', ARGV[1]) == 1 and redis.call('PEXPIRE', KEYS[1], ARGV[2])""")
TAKE_UNTIL = script("""
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1]) == 0 and redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])""")
FIELD = "redis.call('HGET', KEYS[1], ARGV[1])"
DELETE_FIELD = script(f"return {FIELD} == ARGV[2] and redis.call('HDEL', KEYS[1], ARGV[1])")
EXTEND_HASH = script(f"return {FIELD} == ARGV[2] and redis.call('PEXPIRE', KEYS[1], ARGV[3])")
LIBRARY = """#!lua name=locks
redis.register_function('take', function(k, a) return redis.call('SET', k[1], a[1], 'NX', 'PX', a[2]) end)
redis.register_function('free', function(k, a) return redis.call('GET', k[1]) == a[1] and redis.call('DEL', k[1]) end)
redis.register_function('renew', function(k, a)
  return redis.call('GET', k[1]) == a[1] and redis.call('PEXPIRE', k[1], a[2])
end)"""
MAKE_TOKEN = script("return redis.call('SETNX', KEYS[1], 1) == 1 and redis.call('RPUSH', KEYS[2], 'token')")

class Lost(Exception): """The lock was lost, and nothing is written."""

class Right:
    """One order under a leased lock: a token, and a release that compares it."""
    key, patience = LOCK, 3
    start = lambda: None  # once, before the first order
    taken = freed = 0

    def __init__(self, customer): self.token, self.customer = "shop-" + secrets.token_hex(8), customer

    def order(self):
        if not self.wait(): return self.give_up()
        self.taken = self.taken or time.time()
        try: return self.sell()
        finally:
            self.freed = time.time()
            self.release()

    def wait(self):
        end = time.monotonic() + self.patience
        while not self.acquire():
            if time.monotonic() > end: return False
            time.sleep(POLL)
        self.taken = time.time()
        return True

    def sell(self):
        left = self.read()
        if left < 1: return 409
        self.write(left - 1)
        return 200

    def acquire(self): return redis.set(self.key, self.token, nx=True, px=LEASE * 1000)
    def give_up(self): return 423
    def read(self): return int(redis.get(STOCK) or 0)
    def write(self, left): redis.set(STOCK, left)
    def release(self): DELETE([self.key], [self.token])

class Pipelines(Right):
    """It writes and releases in one pipeline, in this order."""
    left = None
    def write(self, left): self.left = left
    def release(self):
        pipe = redis.pipeline(transaction=False)
        if self.left is not None: pipe.set(STOCK, self.left)
        DELETE([self.key], [self.token], client=pipe)
        pipe.execute()

class LooksTwice(Right):
    """It asks for no lock if nothing is left, and reads again under it."""
    def order(self): return super().order() if self.read() > 0 else 409

class ReadsTwice(Right):
    """It reads the stock under its lock to show it, and again to decide."""
    def read(self): return super().read() and super().read()

class Renewed(Right):
    """Renewed until the release, and nothing is written once the lock is lost."""
    def acquire(self):
        asked = time.monotonic()
        if not super().acquire(): return False
        self.end, self.over = asked + LEASE, threading.Event()
        self.renewer = threading.Thread(target=self.renew, daemon=True)
        self.renewer.start()
        return True

    def renew(self):
        while self.end and not self.over.wait(RENEWAL):
            asked = time.monotonic()
            try: self.end = asked + LEASE if self.extend() else 0
            except redispy.RedisError: pass  # unknown: it asks again, as long as the lease lasts

    def write(self, left):
        if time.monotonic() > self.end: raise Lost
        super().write(left)

    def release(self):
        self.over.set()
        self.renewer.join()
        super().release()

    def extend(self): return EXTEND([self.key], [self.token, LEASE * 1000])

class Fenced(Right):
    """A number that grows with every order goes along with the read and the write, and the stock refuses older ones."""
    def acquire(self):
        self.number = ACQUIRE_FENCED([self.key, FENCE], [self.token, LEASE * 1000])
        return self.number

    def use(self, *left):
        left = USE_STOCK([STOCK, SEEN], [self.number, *left])
        if left < 0: raise Lost
        return left

    read = write = use

class Copies(Right):
    """It writes what is left beside the stock, and copies it there."""
    def write(self, left):
        redis.set(NEW, left)
        redis.copy(NEW, STOCK, replace=True)

class LockFree(Right):
    """No lock: if the stock changes between read and write, the order starts again."""
    def order(self):
        while True:
            with redis.pipeline() as pipe:
                try:
                    pipe.watch(STOCK)
                    left = int(pipe.get(STOCK) or 0)
                    if left < 1: return 409
                    pipe.multi()
                    pipe.set(STOCK, left - 1)
                    pipe.execute()
                    return 200
                except redispy.WatchError as error:
                    if error.__context__: raise  # redis-py's word for a broken connection, too: it may have sold

class Gauge(Right):
    """It counts the orders in flight."""
    def order(self):
        redis.incr(IN_FLIGHT)
        try: return super().order()
        finally: redis.decr(IN_FLIGHT)

class Healed(Right):
    """It removes a lock without a TTL, which an old version may have left: there is none."""
    def start():
        def heal():
            while True:
                if redis.ttl(LOCK) == -1: redis.delete(LOCK)
                time.sleep(0.1)
        threading.Thread(target=heal, daemon=True).start()

class Kept(Right):
    """It keeps its lock for 150 ms at least: the release leaves it to expire."""
    def release(self): EXTEND([self.key], [self.token, int(max(1, 150 - (time.time() - self.taken) * 1000))])

class GaugeSet(Right):
    """It keeps a set of the orders in flight."""
    def order(self):
        redis.sadd(IN_FLIGHT, self.token)
        try: return super().order()
        finally: redis.srem(IN_FLIGHT, self.token)

class Cached(Right):
    """A cache is filled under the lock, and only its TTL empties it."""
    def sell(self):
        if not redis.get(PRICE): redis.set(PRICE, 3, px=1000)
        return super().sell()

class CountsOrders(Right):
    """It counts what it has sold."""
    def write(self, left):
        super().write(left)
        redis.incr(ORDERS)

class WriteIfOwner(Right):
    """The write looks whether the lock is its own, and the release comes whether it is or not."""
    def order(self):
        try: return self.sell() if self.wait() else 423
        finally: self.release()

    def write(self, left):
        if not WRITE_IF_OWNER([self.key, STOCK], [self.token, left]): raise Lost

class Database1(Right):
    """The lock is in another database than the stock."""
    locks = redispy.Redis.from_url(os.environ["REDIS_URL"], db=1, socket_timeout=5, retry=Retry(NoBackoff(), 0))

    def acquire(self): return self.locks.set(self.key, self.token, nx=True, px=LEASE * 1000)
    def release(self): DELETE([self.key], [self.token], client=self.locks)

class Hash(Right):
    """The lock is a hash."""
    def acquire(self): return TAKE_HASH([self.key], [self.token, LEASE * 1000])
    def release(self): DELETE_FIELD([self.key], ["owner", self.token])

class HashRenewed(Renewed, Hash):
    """The lock is a hash, and renewed."""
    def extend(self): return EXTEND_HASH([self.key], ["owner", self.token, LEASE * 1000])

class Scored(Right):
    """The lock is a member of a sorted set, whose score is its deadline: a waiter removes it when that is over."""
    lease = 5

    def acquire(self): return TAKE_UNTIL([self.key], [self.token, self.lease * 1000])
    def release(self): redis.zrem(self.key, self.token)

class ByFunctions(Right):
    """Functions at the server take the lock and free it."""
    start = lambda: redis.execute_command("FUNCTION", "LOAD", "REPLACE", LIBRARY)

    def call(self, name, *args): return redis.execute_command("FCALL", name, 1, self.key, self.token, *args)
    def acquire(self): return self.call("take", LEASE * 1000)
    def release(self): self.call("free")

class Functions(Renewed, ByFunctions):
    """Functions at the server take the lock, renew it and free it."""
    def extend(self): return self.call("renew", LEASE * 1000)

class PopsAndPolls(Right):
    """A release pushes a signal, and waiters pop it, or ask again after a second."""
    wait_for = 1

    def wait(self):
        end = time.monotonic() + self.patience
        while not self.acquire():
            if time.monotonic() > end: return False
            redis.blpop(SIGNAL, self.wait_for)
        return True

    def release(self):
        if DELETE([self.key], [self.token]): redis.pipeline().delete(SIGNAL).rpush(SIGNAL, 1).execute()

class Majority(Right):
    """Two of three keys are the lock."""
    keys, enough = [f"{LOCK}:{n}" for n in range(3)], 2

    def acquire(self):
        got = [self.take(key) for key in random.sample(self.keys, len(self.keys))]
        return got.count(True) >= self.enough or self.release()

    def take(self, key): return redis.set(key, self.token, nx=True, px=LEASE * 1000)
    def release(self):
        for key in self.keys: DELETE([key], [self.token])

class Unavailable(Right):
    """It answers 503 if the Redis fails: it does not know whether it sold."""
    def order(self):
        try: return super().order()
        except redispy.RedisError: return 503

class Buyers(Right):
    """No lock: one script takes a unit, and notes who asked for one."""
    def order(self): return 200 if TAKE_ONE([STOCK, BUYERS], [self.customer]) else 409

class TakesBoth(Right):
    """One script acquires the lock and takes the unit."""
    def acquire(self):
        self.left = TAKE_BOTH([self.key, STOCK], [self.token, LEASE * 1000])
        return self.left
    def sell(self): return 409 if self.left < 0 else 200

class LockFreeGauge(Gauge, LockFree):
    """It has no lock, and counts the orders in flight."""

class Ticket(Right):
    """Each order draws a number, and sells when that is called. A number expires, and is then passed over."""
    def wait(self):
        redis.setnx("turn", 1)
        self.number = DRAW_TICKET(["drawn", "ticket:"], [LEASE * 1000])
        return super().wait() or self.release()

    def acquire(self): return LOOK_AT_TURN(["turn", "ticket:"], [self.number, LEASE * 1000])
    def release(self): PASS_TURN(["turn", "ticket:"], [self.number])

class FillsCache(Right):
    """Each sale empties a cache, and the next order fills it again, under a lock for that alone, before its own."""
    def order(self):
        while not redis.get(PRICE):
            if not redis.set(FILL, 1, nx=True, px=1000): time.sleep(POLL)
            else: redis.pipeline().set(PRICE, 3, ex=60).delete(FILL).execute()
        try: return super().order()
        finally: redis.delete(PRICE)

class Beside(Right):
    """Beside its lock it has a session, a limit of the rate, a key of the order, a cart, and a cache that it empties."""
    def order(self):
        redis.hset("sessions", self.token, self.customer)
        redis.pipeline().incr("rate").expire("rate", 60).execute()
        redis.set(self.token, 1, nx=True, ex=60)
        redis.hset("cart", "10000", 1)
        try: return super().order()
        finally:
            redis.hdel("sessions", self.token)
            redis.delete(self.token, "cart")

    def sell(self):
        while not redis.get(PRICE):
            if not redis.set(FILL, 1, nx=True, px=1000): time.sleep(POLL)
            else: redis.pipeline().set(PRICE, 3, ex=60).delete(FILL).execute()
        try: return super().sell()
        finally: redis.delete(PRICE)

class MakesTables(Right):
    """It creates its tables when it starts, which no two can do at once."""
    def start():
        if not redis.set(TABLES, 1, nx=True): sys.exit("its tables are being created")
        time.sleep(0.3)
        redis.delete(TABLES)

class AsksADatabase(Renewed):
    """It sends a line to DATABASE, a host:port, under its lock, and waits for the answer."""
    def read(self):
        with socket.create_connection(os.environ["DATABASE"].split(":")) as database:
            database.sendall(b"?\n")
            database.recv(2)
        return super().read()

class AsksAgainAtOnce(Right):
    """It sleeps hardly at all between two polls."""
    def wait(self):
        end = time.monotonic() + self.patience
        while not self.acquire():
            if time.monotonic() > end: return False
            time.sleep(0.001)
        return True

class ChecksClock(Right):
    """It writes nothing once the lease is over by its own clock."""
    def sell(self):
        self.end = self.taken + LEASE - 0.1
        return super().sell()

    def write(self, left):
        if time.time() > self.end: raise Lost
        super().write(left)

class AsksInfo(Right):
    """Each order has a connection of its own, which asks for INFO first."""
    def __init__(self, customer):
        super().__init__(customer)
        redis.connection_pool.disconnect(inuse_connections=False)
        redis.info()

class RemembersSoldOut(Right):
    """Once it is sold out it asks the Redis no more."""
    over = False

    def order(self):
        status = 409 if RemembersSoldOut.over else super().order()
        RemembersSoldOut.over = RemembersSoldOut.over or status == 409
        return status

class DelWithoutLook(Right):  # the release deletes the key, whoever has it
    def release(self): redis.delete(self.key)

class Nested(DelWithoutLook):  # a right lock around it, of all its customers, hides that
    outer = "outer:10000"

    def wait(self):
        while not redis.set(self.outer, self.token, nx=True, px=LEASE * 1000): time.sleep(POLL)
        return super().wait()

    def release(self):
        super().release()
        DELETE([self.outer], [self.token])

class NestedLonger(Nested):  # its lease outlives that of the lock around it
    outer = "customer:7"
    def acquire(self): return redis.set(self.key, self.token, nx=True, px=2 * LEASE * 1000)

class Pair(Right):  # two keys with one value, taken by one command, and each deleted by a thread of its own
    def acquire(self): return redis.msetnx({key: "held" for key in PAIR})
    def release(self):
        both = [threading.Thread(target=redis.delete, args=[key]) for key in PAIR]
        for one in both: one.start()
        for one in both: one.join()

class LookThenDel(Right):  # the lock may end between the look and the DEL, and be another's
    def release(self):
        if redis.get(self.key) == self.token.encode(): redis.delete(self.key)

class LookBeside(Right):  # the same, and its token is in a key beside the lock
    beside = LOCK + ":owner"

    def acquire(self):
        return redis.set(self.key, 1, nx=True, px=LEASE * 1000) and redis.set(self.beside, self.token, px=LEASE * 1000)

    def release(self):
        if redis.get(self.beside) == self.token.encode(): redis.delete(self.key, self.beside)

class ReleasesTwice(Right):  # the clean-up deletes the key again, whoever has it by then
    def release(self):
        super().release()
        redis.delete(self.key)

class TidiesUp(Right):  # the same, from a timer, long after the answer
    def release(self):
        super().release()
        threading.Timer(0.2, redis.delete, [self.key]).start()

class SetnxExpire(Right):  # a crash between the two commands leaves a lock for ever
    def acquire(self): return redis.setnx(self.key, self.token) and redis.expire(self.key, LEASE)

class UnlockFirst(Right):  # another order reads before this one has written
    def order(self):
        if not self.wait(): return self.give_up()
        try: left = self.read()
        finally: self.release()
        if left < 1: return 409
        self.write(left - 1)
        return 200

class FallsThrough(Right):  # when the wait is over it sells without the lock
    patience = 1
    def give_up(self): return self.sell()

class SellsAnyway(Right):  # an acquire that fails is taken for one that got the lock
    def acquire(self):
        try: return super().acquire()
        except redispy.RedisError: return True

class Prefix(Right):  # the release compares five characters, and all tokens begin with the same
    def release(self): DELETE_BY_PREFIX([self.key], [self.token])

class Finally(Right):  # when the wait is over, the clean-up deletes a lock that was never taken
    def wait(self):
        taken = False
        try: return (taken := super().wait())
        finally:
            if not taken: redis.delete(self.key)

class ToldNo(Right):  # an error of the release is answered as if the lock had been another's: the unit is gone
    def release(self):
        try: super().release()
        except redispy.RedisError: raise Lost

class RenewXx(Renewed):  # the renewal puts its own token into the key, whoever has it
    def extend(self): return redis.set(self.key, self.token, xx=True, px=LEASE * 1000)

class RenewAgain(Renewed):  # the renewal makes a key again that has expired or was removed
    def extend(self): return EXTEND_OR_SET([self.key], [self.token, LEASE * 1000])

class DecrAgain(Right):  # when the reply is lost it takes a unit again: the first may have been taken
    def write(self, left):
        try: redis.decr(STOCK)
        except (redispy.ConnectionError, redispy.TimeoutError): redis.decr(STOCK)

class Slowly(Right):
    """Between read and write there is time for another order."""
    def read(self):
        left = super().read()
        time.sleep(0.02)
        return left

class PerCustomer(Slowly):  # each customer has a lock of their own
    def __init__(self, customer):
        super().__init__(customer)
        self.key = f"{LOCK}:{customer}"

class PerInstance(Slowly):  # each instance has a lock of its own
    key = f"{LOCK}:{os.environ['PORT']}"

class NoTtl(Right):  # a crash leaves the lock for ever
    def acquire(self): return redis.set(self.key, self.token, nx=True)

class ShortLease(Right):  # a plain sale takes three times as long as the lease
    def acquire(self): return redis.set(self.key, self.token, nx=True, px=50)
    def write(self, left):
        time.sleep(0.15)
        super().write(left)

class RenewAfter(Renewed):  # the renewal is not stopped: it goes on for as long as the release has not arrived
    def release(self): Right.release(self)

class RenewsOn(Renewed):  # the renewal goes on for some leases after a release that has not arrived
    patience = 15
    def release(self):
        threading.Timer(8.0, self.over.set).start()
        Right.release(self)

class TooFew(Majority, Slowly):  # two orders can have two of four keys each
    keys = [f"{LOCK}:{n}" for n in range(4)]

    def take(self, key):
        time.sleep(0.002)  # time for another order's
        return super().take(key)

class ReadFirst(Right):  # it looks at the stock before it has the lock
    def order(self):
        self.left = int(redis.get(STOCK) or 0)
        return super().order()

    def read(self): return self.left

class Remember(Right):  # each instance keeps the stock in its memory
    left = None

    def read(self):
        Remember.left = int(redis.get(STOCK) or 0) if Remember.left is None else Remember.left
        return Remember.left

    def write(self, left):
        super().write(left)
        Remember.left = left

class RereadsLate(Right):  # an order that is refused once sells what it read before; only one of the last two units
    def wait(self):
        self.left, self.refusals = super().read(), 0
        return super().wait()

    def acquire(self): return super().acquire() or self.refused()
    def refused(self): self.refusals += 1
    def read(self): return self.left if self.refusals == 1 and self.left < 3 else super().read()

class GivesBack(Right):  # it takes the lock of another order for a sign that its own sale has failed; of two units only
    left = None

    def write(self, left):
        super().write(left)
        self.left = left

    def release(self):
        super().release()
        if self.left == 1 and redis.exists(self.key): redis.incr(STOCK)

class LookThenSet(Right):  # two may look before either sets
    def acquire(self):
        if redis.exists(self.key): return False
        time.sleep(0.02)
        return redis.set(self.key, self.token, px=LEASE * 1000)

class OneValue(Right):  # the orders of an instance have one value, by which one may release the lock of another
    def __init__(self, customer):
        super().__init__(customer)
        self.token = "instance-" + os.environ["PORT"]

class OneForAll(Right):  # all orders have one value, by which each may release the lock of any other
    def __init__(self, customer):
        super().__init__(customer)
        self.token = "shop-of-everybody"

class OneObject(Right):  # one lock object for all requests: it has the value of whoever acquired last
    shared = None
    def acquire(self):
        if not super().acquire(): return False
        OneObject.shared = self.token
        return True
    def release(self): DELETE([self.key], [OneObject.shared])

class WaitersProlong(Right):  # who finds the lock taken sets its TTL anew, also when its holder is dead
    def acquire(self):
        with redis.pipeline() as pipe: return pipe.setnx(self.key, self.token).expire(self.key, LEASE).execute()[0]

class LateNumber(Fenced):  # the stock hears of a number with the write: what an older one wrote since the read is lost
    def read(self): return int(redis.get(STOCK) or 0)

class Unchecked(LateNumber):  # the stock notes the number, and compares it with none
    def write(self, left): NOTE_NUMBER([STOCK, SEEN], [self.number, left])

class WrongWay(LateNumber):  # the stock refuses numbers that are newer than the newest, and no older ones
    def write(self, left):
        if not COMPARE_WRONG([STOCK, FENCE], [self.number, left]): raise Lost

class Counter(DelWithoutLook):  # whoever counts to one has the lock; those who wait count on
    def acquire(self): return redis.incr(self.key) == 1 and redis.pexpire(self.key, LEASE * 1000)

class Line(Right):  # whoever dies in the line stays in it, and nobody behind gets to its head
    def acquire(self): return LINE_UP([self.key, LINE], [self.token, LEASE * 1000])
    def give_up(self): return redis.lrem(LINE, 0, self.token) and 423
    def release(self):
        super().release()
        redis.lpop(LINE)

class Database2(Right):
    """Its stock and its lock are in another database than its URL names."""
    start = lambda: redis.connection_pool.connection_kwargs.update(db=2)

class KillsServer(Right):  # it ends the Redis that it uses
    def read(self): os.kill(redis.info()["process_id"], signal.SIGKILL)

class KeepsIt(Right):  # it never gives the lock back
    def release(self): pass

class Newer(Right):  # its release is for a server that is not there yet
    def release(self): redis.execute_command("DELMINE", self.key, self.token)

class Sleeper(Right):  # a waiter sleeps until a message: a holder that dies sends none, nor does the end of a lease
    patience = 6

    def wait(self):
        end = time.monotonic() + self.patience
        with redis.pubsub(ignore_subscribe_messages=True) as heard:
            heard.subscribe(FREED)
            heard.get_message(timeout=LEASE)  # that it is subscribed
            while not self.acquire():
                if heard.get_message(timeout=end - time.monotonic()) is None: return False
        return True

    def release(self): return DELETE([self.key], [self.token]) and redis.publish(FREED, "")

class Hasty(Sleeper):  # it gives up an acquire whose reply comes late, and tells nobody, not even itself
    def acquire(self):
        asked = time.monotonic()
        got = super().acquire()
        if time.monotonic() - asked < 0.35: return got
        DELETE([self.key], [self.token])

class Popper(PopsAndPolls):  # a waiter pops without a timeout: a holder that dies pushes nothing
    wait_for = 0

class SharedHash(Right):  # a field of a hash has no TTL
    start, locks, field = (lambda: redis.hset(LOCKS, "made", 1)), LOCKS, "10000"

    def acquire(self): return redis.hsetnx(self.locks, self.field, self.token)
    def release(self): DELETE_FIELD([self.locks], [self.field, self.token])

class GaugeField(SharedHash):  # nor has one beside a count of the orders in flight
    def order(self):
        redis.hincrby(self.locks, IN_FLIGHT, 1)
        try: return super().order()
        finally: redis.hincrby(self.locks, IN_FLIGHT, -1)

class BesideStock(SharedHash):  # and so has none in the hash of the stock
    start, locks, field = Right.start, SHELF, "lock"

    def read(self): return int(redis.hget(self.locks, "10000") or 0)
    def write(self, left): redis.hset(self.locks, "10000", left)

class StepsBack(Right):  # a counter has no TTL
    def acquire(self): return redis.incr(self.key) == 1 or self.release()
    def release(self): redis.decr(self.key)

class TokenList(Right):  # nor has a token that whoever has it puts back
    start = lambda: MAKE_TOKEN(["made:10000", TOKENS])

    def wait(self): return redis.blpop(TOKENS, self.patience)
    def release(self): redis.rpush(TOKENS, "token")

class AnswersFirst(Right):  # the unit is taken after the answer
    def order(self):
        if not self.wait(): return self.give_up()
        left = self.read()
        threading.Thread(target=self.finish, args=[left]).start()
        return 200 if left > 0 else 409

    def finish(self, left):
        for _ in range(10):  # an order that sends nothing for 60 ms would be over
            time.sleep(0.01)
            self.read()
        if left > 0: self.write(left - 1)
        self.release()

class Crashes(Right):  # the process ends by an exception
    def order(self):
        try: return super().order()
        except redispy.RedisError: os._exit(1)

class DiesInACrowd(Right):  # the process ends when five orders are in it at once
    inside = set()

    def order(self):
        DiesInACrowd.inside.add(self)
        if len(DiesInACrowd.inside) > 4: os._exit(1)
        try: return super().order()
        finally: DiesInACrowd.inside.discard(self)

class SharedWatch(LockFree):  # orders share a connection: an EXEC ends the watch of them all
    one = redispy.Redis(connection_pool=redispy.BlockingConnectionPool.from_url(
        os.environ["REDIS_URL"], max_connections=1, socket_timeout=5))

    def order(self):
        while True:
            self.one.execute_command("WATCH", STOCK)
            left = int(self.one.get(STOCK) or 0)
            time.sleep(0.02)
            if left < 1: return 409
            try: return self.one.pipeline().set(STOCK, left - 1).execute() and 200
            except redispy.WatchError as error:
                if error.__context__: raise

class NoLock(Slowly):  # read, write
    def order(self): return self.sell()

class NoLockSession(NoLock):  # a session for each order keeps no other out
    def order(self):
        redis.hset(self.token, "customer", self.customer)
        try: return self.sell()
        finally: redis.delete(self.token)

class NoLockBeside(Beside, NoLock): """What else an order has in Redis keeps no other out."""

class NoLockCopies(Copies, NoLock): """Read, write beside the stock, copy."""

Shop = globals()["".join(word.capitalize() for word in sys.argv[1].split("-"))]  # no-lock: NoLock

class Handler(BaseHTTPRequestHandler):
    log_message = lambda *_: None

    def do_POST(self):
        url = urlsplit(self.path)
        customer = parse_qs(url.query).get("customer", [self.client_address[1]])[0]
        shop = Shop(customer)
        try: status = shop.order() if url.path == "/decrease" else 404
        except Lost: status = 423
        except Exception: status = traceback.print_exc() or 500
        self.send_response(status)
        held = f"held from {shop.taken} to {shop.freed}".encode()
        self.send_header("Content-Length", str(len(held)))
        self.end_headers()
        self.wfile.write(held)

Shop.start()
ThreadingHTTPServer.request_queue_size = 1024  # a crowd comes at once
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
