package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// valid judges whether the cell measures the service, and not the client, a machine that had no time for either, or a
// clock that was stepped. A cell whose client did not measure itself counts as valid, unless an order never left it.
func valid(b *books, answers []history.Finding) history.Finding {
	for _, why := range []string{b.undelivered(), b.starved(), b.stepped(), b.tooSlowFor(answers)} {
		if why != "" {
			return answer(history.Valid, history.Invalid, "%s", why)
		}
	}
	return history.Finding{Verdict: history.Valid, Result: history.OK}
}

// undelivered returns the errors that kept requests from leaving the client, "" if all were sent.
func (b *books) undelivered() string {
	missing, asked := b.notSent, len(b.ops)
	if cl := b.Client; cl != nil && cl.Asked-cl.Delivered >= missing {
		missing, asked = cl.Asked-cl.Delivered, cl.Asked
	}
	if missing == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d requests never left the client", missing, asked)
	if errs := b.clientErrors(); len(errs) > 0 {
		text += ": " + strings.Join(errs, "; ")
	}
	return text
}

// clientErrors returns the errors that kept the client from sending, the most frequent first.
func (b *books) clientErrors() []string {
	errs := map[string]int{}
	if b.Client != nil {
		maps.Copy(errs, b.Client.Errors)
	}
	if len(errs) == 0 && b.notSent > 0 {
		for _, op := range b.ops {
			if op.Outcome == history.NotSent {
				errs[op.Detail]++
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(errs), func(x, y string) int {
		if errs[x] != errs[y] {
			return errs[y] - errs[x]
		}
		return strings.Compare(x, y)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d × %s", errs[name], name)
	}
	return names[:min(len(names), maxEvidence)]
}

// starved reports that the client mostly measured its own wait for the processor, "" if it did not. A closed loop
// adapts its rate to the machine and measures the same; tooSlowFor checks whether its leases were long enough.
func (b *books) starved() string {
	if b.Client == nil || b.Client.Loop == "closed" || b.Elapsed <= 0 || b.Client.Away <= b.Elapsed/2 {
		return ""
	}
	return fmt.Sprintf("machine too slow for this cell: the client did not get the processor for %s of %s",
		b.Client.Away.Round(time.Millisecond), b.Elapsed.Round(time.Millisecond))
}

// orderly is the largest error of the client's clock at which its times still show which order came first.
const orderly = history.Instant(100 * time.Millisecond)

// stepped reports that a clock was stepped during the cell: the client's, whose timestamps then disagree with measured
// latencies, or an instance's. It is "" if none is known to have been.
func (b *books) stepped() string {
	if b.error > orderly {
		return "the client's clock was stepped during the cell"
	}
	return b.clocks.stepped()
}

// nodesPatience is the fraction of a lease within which a node of a lock has to answer: after a longer stall it may
// seem to be down.
const nodesPatience = 20

// tooSlowFor reports that a stall of the machine explains a broken verdict, "" if none does. A process that stalls for
// half a lease lets it expire. A node that stalls for a moment seems to be down, and a fresh request is then
// answered that the state of the lock is unknown, not that it is taken.
func (b *books) tooSlowFor(answers []history.Finding) string {
	if b.Client == nil || b.TTL <= 0 || history.Worst(answers) != history.Broken {
		return ""
	}
	text := fmt.Sprintf("machine too slow for this cell: "+
		"the client did not get the processor for %s at once, and a lease lasts %s",
		b.Client.Longest.Round(time.Millisecond), b.TTL)
	if b.Client.Longest >= b.TTL/2 {
		return text
	}
	alone := history.FindingOf(answers, history.Liveness).Result == history.Broken
	if alone && len(b.probes) > 0 && b.Client.Longest >= b.TTL/nodesPatience &&
		decisive(b.probes).Outcome != history.Busy {
		return text
	}
	return ""
}
