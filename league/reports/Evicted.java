import java.net.URI;
import java.util.concurrent.*;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** Asks a RedisLockRegistry for more keys than its cache holds, while a lock is held, and before it is taken. */
class Evicted {
  static boolean taken(Lock lock) throws Exception { // by a thread of its own, which keeps it
    return Executors.newSingleThreadExecutor().submit(() -> lock.tryLock(1, TimeUnit.SECONDS)).get();
  }

  public static void main(String[] args) throws Exception {
    URI redis = URI.create(System.getenv("REDIS_URL"));
    var connections = new LettuceConnectionFactory(redis.getHost(), redis.getPort());
    connections.afterPropertiesSet();
    connections.start();
    for (boolean held : new boolean[] {true, false}) {
      for (int i = 0; i < 10; i++) {
        var registry = new RedisLockRegistry(connections, "evicted-" + held + i, 2_000);
        registry.setCacheCapacity(2);
        Lock before = registry.obtain("key");
        boolean first = held && taken(before);
        for (int other = 0; other < 5; other++) registry.obtain("other-" + other);
        Lock after = registry.obtain("key");
        boolean second = taken(after);
        if (!held) first = taken(before);
        System.out.printf("held before: %s; one object: %s; both: %s%n", held, before == after, first && second);
      }
    }
    System.exit(0);
  }
}
