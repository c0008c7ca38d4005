package bench;

/** One measurement, as one process has to do it: the Job of package worker, field by field. */
record Job(
    String contender, String workload, String url, String prefix, int process, int workers,
    long warm_up_ms, long for_ms, long drain_ms) {

  boolean hot() {
    return workload.equals("hot");
  }

  /** The lock of a worker: one for all, or one of its own. */
  String lock(int worker) {
    return hot() ? prefix + "hot" : prefix + "free:" + process + ":" + worker;
  }

  String stock() {
    return "ProductStock_" + prefix + "product";
  }
}
