package scenario

import (
	"strconv"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

var readersAndWriter = declare(catalog.Scenario{
	Name:      "readers-and-writer",
	Does:      "twenty readers arrive one after another without a gap, and a writer arrives after the first",
	Instances: 2,
	TTL:       longLease,
	Within:    2 * time.Second,
}, injectReadersAndWriter,
	on("v10", holds,
		"a waiting writer leaves a mark that keeps new readers out: it is next when the readers inside have left"),
	skipOthers("it has no lock that readers share"),
)

// injectReadersAndWriter sends readers one after the other, each before the previous one has released. A writer arrives
// after the first reader, and the last reader stays until the writer is answered. The writer is the fresh request that
// has to get through.
func injectReadersAndWriter(f *play) {
	f.warmUp()
	inside := f.reader(1)
	inside.waitHeld()
	begun := time.Now()
	writer := f.send(b, "writer", history.Probe, client.Order{Wait: f.cell.Limit})
	for n := 2; n <= readers; n++ {
		next := f.reader(n)
		next.waitHeldOrKeptOut()
		inside.finish()
		next.waitHeld()
		inside = next
	}
	writer.waitAnswered()
	writer.recordFault(begun, "asking to write while %d readers came without a gap", readers)
	inside.finish()
}

const (
	readers = 20
	// keptOutAfter is the time after which a waiting reader counts as kept out: many times the delay between two of its
	// tries.
	keptOutAfter = 200 * time.Millisecond
)

// reader sends reader n, to the instances in turn. It is held under its lock.
func (f *play) reader(n int) *inFlight {
	return f.send(n%2, "reader-"+strconv.Itoa(n), history.Reading,
		client.Order{Fault: "hold@after:" + f.rung.Read, Wait: 2 * f.cell.Limit})
}

// waitHeldOrKeptOut waits until the order is held, or has waited for the lock for keptOutAfter. A slow machine gets
// more time, but not enough for the writer's own wait to run out.
func (o *inFlight) waitHeldOrKeptOut() {
	patience := keptOutAfter + min(o.slack(), o.cell.Limit/4)
	o.poll(func() time.Duration { return patience }, func() bool { return o.HasEnded() || o.held() })
}
