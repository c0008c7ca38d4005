package bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

/** The worker process of package worker on the JVM, for Redisson's RLock with its defaults. */
public final class Worker {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

  public static void main(String[] args) throws Exception {
    Worker worker = new Worker();
    new Thread(worker::read).start();
    worker.serve();
  }

  /** Reads the input. When it ends, so does the process, whatever is under way. */
  private void read() {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        lines.add(line);
      }
    } catch (IOException e) {
      System.err.println(e);
    }
    Runtime.getRuntime().halt(0);
  }

  /** Does the jobs that come in. */
  private void serve() throws Exception {
    while (true) {
      Job job = JSON.readValue(lines.take(), Job.class);
      RedissonClient redisson;
      try {
        redisson = Redisson.create(config(job.url()));
      } catch (RuntimeException e) {
        answer(Map.of("error", e.toString()));
        continue;
      }
      answer(Map.of());
      lines.take(); // an empty line: begin
      answer(Map.of("workers", measure(job, redisson)));
      redisson.shutdown(0, 2, TimeUnit.SECONDS);
    }
  }

  private static void answer(Object answer) throws IOException {
    System.out.println(JSON.writeValueAsString(answer));
    System.out.flush();
  }

  private static List<Tally> measure(Job job, RedissonClient redisson) throws InterruptedException {
    long begin = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(job.warm_up_ms());
    long end = begin + TimeUnit.MILLISECONDS.toNanos(job.for_ms());
    List<Seller> sellers = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < job.workers(); i++) {
      Seller seller = new Seller(job, redisson, i, begin, end);
      sellers.add(seller);
      threads.add(new Thread(seller));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    return sellers.stream().map(seller -> seller.tally).toList();
  }

  private static Config config(String url) {
    URI uri = URI.create(url);
    Config config = new Config();
    config.setCodec(StringCodec.INSTANCE);
    int port = uri.getPort() < 0 ? 6379 : uri.getPort();
    SingleServerConfig server =
        config.useSingleServer().setAddress(uri.getScheme() + "://" + uri.getHost() + ":" + port);
    if (uri.getUserInfo() != null) {
      String[] account = uri.getUserInfo().split(":", 2);
      server.setUsername(account[0].isEmpty() ? null : account[0]);
      server.setPassword(account.length > 1 ? account[1] : null);
    }
    String database = uri.getPath().replace("/", "");
    if (!database.isEmpty()) {
      server.setDatabase(Integer.parseInt(database));
    }
    return config;
  }
}
