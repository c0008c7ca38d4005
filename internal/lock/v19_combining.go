package lock

// combining is v19: v18 that passes a lease on to all who wait, and not to the first of them alone. They are a batch, and
// have one critical section together: the shelf reads the stock once for all of them, and writes it once. The work of
// each is done beside that of the others. While a batch is at work, the next one gathers.
// It is group commit, as databases write the log of many transactions at once: DeWitt et al., "Implementation Techniques
// for Main Memory Database Systems" (SIGMOD 1984).
// Defect: that of v18; and the slowest of a batch holds up the others, and a write without an answer leaves the outcome
// of all of them unknown.
func combining(rt runtime) TryLock { return passingOn(newCohorts(rt, maxBatch)) }

// maxBatch is how many orders share a critical section of v19 at most.
const maxBatch = 128
