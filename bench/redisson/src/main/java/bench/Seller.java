package bench;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** One worker: a thread that repeats an operation until the measurement ends. */
final class Seller implements Runnable {
  private static final long AFTER_FAILURE_MS = 10;

  private final Job job;
  private final RLock lock;
  private final RBucket<String> stock;
  private final long begin;
  private final long end;
  final Tally tally = new Tally();

  /** Begin and end are times of System.nanoTime. */
  Seller(Job job, RedissonClient redisson, int number, long begin, long end) {
    this.job = job;
    this.lock = redisson.getLock(job.lock(number));
    this.stock = redisson.getBucket(job.stock());
    this.begin = begin;
    this.end = end;
  }

  @Override
  public void run() {
    for (long begun = System.nanoTime(); begun - end < 0; begun = System.nanoTime()) {
      String error = once();
      record(begun, System.nanoTime(), error);
      if (error != null) {
        pause();
      }
    }
  }

  /** Does one operation, and returns why it failed, or null. */
  private String once() {
    try {
      lock.lock();
      long unit = 0;
      try {
        if (job.hot()) {
          unit = sell();
        }
      } finally {
        lock.unlock();
        if (unit > 0) {
          tally.sold.add(unit);
        }
      }
      return null;
    } catch (RuntimeException e) {
      return e.toString();
    }
  }

  private long sell() {
    long unit = Long.parseLong(stock.get());
    if (unit < 1) {
      throw new IllegalStateException("sold out");
    }
    stock.setAndKeepTTL(Long.toString(unit - 1));
    return unit;
  }

  private void record(long begun, long done, String error) {
    if (counts(begun)) {
      tally.took_us.add(TimeUnit.NANOSECONDS.toMicros(done - begun));
    }
    if (error != null) {
      if (tally.failed++ == 0) {
        tally.error = error;
      }
    } else if (counts(done)) {
      tally.done++;
    }
  }

  private boolean counts(long time) {
    return time - begin >= 0 && time - end < 0;
  }

  private static void pause() {
    try {
      Thread.sleep(AFTER_FAILURE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
