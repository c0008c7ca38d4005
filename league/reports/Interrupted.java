import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.*;
import org.redisson.api.options.KeysScanOptions;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

/** Interrupts 200 acquires of Redisson that are under way, and counts the locks that are still renewed long after. */
class Interrupted {
  static int threw;

  public static void main(String[] args) throws Exception {
    boolean unlocks = args.length > 0; // else it takes the exception to mean that it has no lock
    Config config = new Config().setLockWatchdogTimeout(1000);
    config.useSingleServer().setAddress(System.getenv("REDIS_URL"));
    RedissonClient redisson = Redisson.create(config);
    for (int i = 0; i < 200; i++) {
      RLock lock = redisson.getLock("interrupted-" + i);
      Thread order = new Thread(() -> {
        try {
          lock.lockInterruptibly();
        } catch (RedisException | InterruptedException e) {
          threw++;
          if (!unlocks) return;
        }
        Thread.interrupted();
        try {
          lock.unlock();
        } catch (IllegalMonitorStateException | RedisException e) {
          return; // the unlock overtook the acquire, or was interrupted itself
        }
      });
      order.start();
      long until = System.nanoTime() + i % 60 * 10_000;
      while (System.nanoTime() < until) Thread.onSpinWait();
      order.interrupt();
      order.join();
    }
    TimeUnit.SECONDS.sleep(5);
    long held = redisson.getKeys().getKeysStream(KeysScanOptions.defaults().pattern("interrupted-*")).count();
    System.out.println(threw + " of 200 acquires threw; five watchdog times later " + held + " locks stand");
    redisson.shutdown();
  }
}
