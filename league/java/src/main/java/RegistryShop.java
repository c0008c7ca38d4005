import com.sun.net.httpserver.*;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.concurrent.*;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.scheduling.concurrent.SimpleAsyncTaskScheduler;

/** A shop over Spring Integration's RedisLockRegistry, by spin (its default), pub-sub, or renewed (and spin). */
public class RegistryShop {
  static RedisLockRegistry registry;
  static StringRedisTemplate redis;

  static int sell(long work) throws InterruptedException {
    var lock = registry.obtain("product_10000");
    if (!lock.tryLock(5, TimeUnit.SECONDS)) return 423;
    try {
      int left = Integer.parseInt(redis.opsForValue().get("ProductStock_10000"));
      if (left < 1) return 409;
      Thread.sleep(work);
      redis.opsForValue().set("ProductStock_10000", String.valueOf(left - 1));
      return 200;
    } finally {
      lock.unlock();
    }
  }

  static void answer(HttpExchange order) throws IOException {
    String work = order.getRequestURI().getQuery(); // work=MILLISECONDS, or null
    int status = 500;
    try (order) {
      try {
        status = sell(work == null ? 0 : Long.parseLong(work.substring(5)));
      } catch (Exception e) {
        System.err.println(e);
      }
      order.sendResponseHeaders(status, -1);
    }
  }

  public static void main(String[] args) throws IOException {
    URI url = URI.create(System.getenv("REDIS_URL"));
    var connections = new LettuceConnectionFactory(url.getHost(), url.getPort());
    connections.afterPropertiesSet();
    connections.start();
    redis = new StringRedisTemplate(connections);
    registry = new RedisLockRegistry(connections, "locks", 2000);
    String kind = args.length > 0 ? args[0] : "spin";
    if (kind.equals("pub-sub")) registry.setRedisLockType(RedisLockRegistry.RedisLockType.PUB_SUB_LOCK);
    if (kind.equals("renewed")) registry.setRenewalTaskScheduler(new SimpleAsyncTaskScheduler());
    int port = Integer.parseInt(System.getenv("PORT"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/decrease", RegistryShop::answer);
    server.start();
  }
}
