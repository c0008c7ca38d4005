import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** A shop over Redisson's locks: watchdog (its lock of 30 s is renewed; here of 2 s), lease, fair, or fenced. */
public class RedissonShop {
  static RedissonClient redisson;
  static String kind;

  static boolean acquire(RLock lock) throws InterruptedException {
    return kind.equals("lease") ? lock.tryLock(5, 2, TimeUnit.SECONDS) : lock.tryLock(5, TimeUnit.SECONDS);
  }

  static int sell() throws InterruptedException {
    RLock lock = switch (kind) {
      case "fair" -> redisson.getFairLock("product_10000");
      case "fenced" -> redisson.getFencedLock("product_10000");
      default -> redisson.getLock("product_10000");
    };
    if (!acquire(lock)) return 423;
    try {
      RBucket<String> stock = redisson.getBucket("ProductStock_10000", StringCodec.INSTANCE);
      int left = Integer.parseInt(stock.get());
      if (left < 1) return 409;
      stock.set(String.valueOf(left - 1));
      return 200;
    } finally {
      lock.unlock();
    }
  }

  static void answer(HttpExchange order) throws IOException {
    int status;
    try (order) {
      order.getRequestBody().readAllBytes();
      byte[] body = {};
      try { status = sell(); } catch (Exception e) { status = 500; body = e.toString().getBytes(); }
      order.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
      order.getResponseBody().write(body);
    }
  }

  public static void main(String[] args) throws IOException {
    kind = args.length > 0 ? args[0] : "watchdog";
    Config config = new Config();
    config.setLockWatchdogTimeout(2000).useSingleServer().setAddress(System.getenv("REDIS_URL"));
    redisson = Redisson.create(config);
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/decrease", RedissonShop::answer);
    server.start();
  }
}
