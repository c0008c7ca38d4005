import com.sun.net.httpserver.*;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.*;
import org.redisson.Redisson;
import org.redisson.api.*;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** A shop over Redisson: watchdog, fair, fenced, lock, lock-fair, replicated (all are renewed), or lease, lock-lease. */
public class RedissonShop {
  static RedissonClient redisson;
  static String kind;

  static int sell(long work) throws InterruptedException {
    RLock lock = kind.endsWith("fair") ? redisson.getFairLock("product_10000")
        : kind.equals("fenced") ? redisson.getFencedLock("product_10000") : redisson.getLock("product_10000");
    int lease = kind.endsWith("lease") ? 2 : -1; // -1 has the watchdog renew
    if (kind.startsWith("lock")) lock.lock(lease, TimeUnit.SECONDS);
    else if (!lock.tryLock(5, lease, TimeUnit.SECONDS)) return 423;
    try {
      RBucket<String> stock = redisson.getBucket("ProductStock_10000", StringCodec.INSTANCE);
      int left = Integer.parseInt(stock.get());
      if (left < 1) return 409;
      Thread.sleep(work);
      stock.set(String.valueOf(left - 1));
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
    kind = args.length > 0 ? args[0] : "watchdog";
    Config config = new Config().setLockWatchdogTimeout(2000);
    String redis = System.getenv("REDIS_URL");
    if (kind.equals("replicated")) config.useReplicatedServers().addNodeAddress(redis);
    else config.useSingleServer().setAddress(redis);
    redisson = Redisson.create(config);
    int port = Integer.parseInt(System.getenv("PORT"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/decrease", RedissonShop::answer);
    server.start();
  }
}
