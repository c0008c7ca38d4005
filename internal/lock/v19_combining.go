package lock

// combining is v19: v18 that passes a lease on to all who wait, and not to the first of them alone. They are a batch,
// and have one critical section together. The shelf reads the stock once for all of them, and writes it once; each does
// its work beside the others. While a batch is at work, the next one gathers.
// It is flat combining, over a lease: Hendler, Incze, Shavit and Tzafrir, "Flat Combining and the
// Synchronization-Parallelism Tradeoff" (SPAA 2010). Databases commit in groups in the same way.
// Defect: that of v18; the slowest of a batch holds up the others, and a write without an answer leaves the outcome of
// all of them unknown.
func combining(rt runtime) TryLock { return passingOn(newCohorts(rt, maxBatch)) }

// maxBatch is how many orders share a critical section of v19 at most.
const maxBatch = 128
