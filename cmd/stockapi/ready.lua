-- Does to a key of its own what an order does to its lock and its stock. KEYS[1]: the key. The TTL is for a Redis that
-- dies in between.
redis.call('SET', KEYS[1], '1', 'PX', 1000)
redis.call('GET', KEYS[1])
return redis.call('DEL', KEYS[1])
