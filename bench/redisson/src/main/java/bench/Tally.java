package bench;

import java.util.ArrayList;
import java.util.List;

/** What one worker did: the Tally of package worker, field by field. */
final class Tally {
  public long done;
  public final List<Long> took_us = new ArrayList<>();
  public final List<Long> sold = new ArrayList<>();
  public long failed;
  public String error = "";
}
