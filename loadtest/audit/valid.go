package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// valid answers whether the cell is a measurement of the service, and not of the client, of a machine that had no time
// for either, or of a clock that was stepped. A cell whose client did not look at itself is taken to be one, unless an
// order never left it.
func valid(b *books, answers []history.Finding) history.Finding {
	for _, why := range []string{b.undelivered(), b.starved(), b.stepped(), b.tooSlowFor(answers)} {
		if why != "" {
			return answer(history.Valid, history.Invalid, "%s", why)
		}
	}
	return history.Finding{Verdict: history.Valid, Result: history.OK}
}

// undelivered names the errors that kept requests from leaving the client. It is empty if all were sent.
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

// clientErrors names what kept the client from sending, the most frequent first.
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

// starved says that the client mostly measured its own waiting for the processor. It is empty if it did not. A closed
// loop adapts its rate to the machine and measures the same; tooSlowFor asks whether its leases were long enough.
func (b *books) starved() string {
	if b.Client == nil || b.Client.Loop == "closed" || b.Elapsed <= 0 || b.Client.Away <= b.Elapsed/2 {
		return ""
	}
	return fmt.Sprintf("machine too slow for this cell: the client did not get the processor for %s of %s",
		b.Client.Away.Round(time.Millisecond), b.Elapsed.Round(time.Millisecond))
}

// orderly bounds the error of the client's clock up to which its times tell which order came first.
const orderly = history.Instant(100 * time.Millisecond)

// stepped says that a clock was stepped during the cell: the client's, whose orders then took another time by it than
// they took, or one of the instances'. It is empty if none is known to have been.
func (b *books) stepped() string {
	if b.error > orderly {
		return "the client's clock was stepped during the cell"
	}
	return b.clocks.stepped()
}

// nodesPatience is the part of a lease in which a node of a lock has to answer: where the processor is not to be had
// for longer, it may seem to be gone.
const nodesPatience = 20

// tooSlowFor says that a machine that stood still explains a broken verdict. It is empty if it does not. A process that
// stands still for half a lease lets it end. A server that does so for a moment seems to be gone, and then a fresh
// request is not told that the lock is taken, but that nobody knows.
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
