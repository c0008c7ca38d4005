package narrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// An Order prints the steps of one order. The methods of a nil Order do nothing. Several goroutines may call them at
// once: the order's own, those that renew its lease, and timers.
type Order struct {
	narrator *Narrator
	wants    Wants
	begun    time.Time

	mu       sync.Mutex
	waiting  bool
	has      bool
	fence    int64
	ended    bool // the outcome has been printed
	lost     bool // the loss of the lease has been printed
	released time.Time

	nodes   map[string]bool // servers that received a command about the lock
	hasTTL  bool            // the lock's key was given a TTL
	end     time.Time       // expiry of a lease that the rung does not watch; zero: unknown
	atEnd   *time.Timer
	unwatch func() bool // ends the watch of a lease that the rung watches
	found   *string     // the key's value at the release, if the rung reads it
	deleted *string     // the reply to an unconditional delete
	late    bool        // the delete was sent after the lease had expired
	read    string      // the stock at the last read that was not watched
	watches bool        // the next read is watched
}

// tell runs a step of the order, one at a time. A nil order has none.
func (o *Order) tell(step func()) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	step()
}

// say prints a line. The caller holds o.mu, or is the only one that knows the order.
func (o *Order) say(t tone, text string) {
	if !o.end.IsZero() && !o.lost && o.released.IsZero() && time.Now().After(o.end) {
		o.tellOver()
	}
	o.narrator.print(o.wants, o.begun, t, text)
}

// tellOver reports the expiry of a lease that its rung does not watch.
func (o *Order) tellOver() {
	o.lost = true
	o.narrator.print(o.wants, o.begun, bad, fmt.Sprintf("its lease has expired (TTL %v)", o.wants.TTL))
}

// Busy narrates an attempt that found the lock taken: once, and only if the order waits for the lock.
func (o *Order) Busy(err error, maxWait time.Duration) {
	if maxWait <= 0 || !errors.Is(err, lock.ErrBusy) && !errors.Is(err, lock.ErrNoQuorum) {
		return
	}
	o.tell(func() {
		if !o.waiting {
			o.waiting = true
			o.say(slow, fmt.Sprintf("waits for the lock, %v at most", maxWait))
		}
	})
}

// Has narrates that the order holds the lock, and from now on watches the lease. It reports the loss of a lease that
// its rung watches as soon as the rung notices, and the expiry of any other lease by the TTL.
func (o *Order) Has(lease *lock.Lease, waited time.Duration) {
	o.tell(func() {
		o.has = true
		if lease.Token == "" {
			o.say(plain, "takes no lock")
			return
		}
		text := "holds the lock"
		if o.waiting {
			text += fmt.Sprintf(" after %d ms", waited.Milliseconds())
		}
		text += ": token " + lease.Token[:min(len(lease.Token), 6)]
		if o.fence = lease.Fence; o.fence > 0 {
			text += fmt.Sprintf(", fence %d", lease.Fence)
		}
		switch until, watched := lease.ValidUntil(); {
		case watched:
			text += ", valid " + time.Until(until).Round(time.Millisecond).String()
		case o.hasTTL:
			o.prolong(time.Now())
			text += fmt.Sprintf(", TTL %v", o.wants.TTL)
		}
		o.waiting = false
		o.say(good, text)
		o.unwatch = context.AfterFunc(lease.Context, func() {
			o.tell(func() { o.tellLost(context.Cause(lease.Context)) })
		})
	})
}

// prolong moves the expiry of a lease that the rung does not watch. Redis counted the TTL from before that reply, so by
// then the lease has certainly expired, unless the reply to the next renewal is late.
func (o *Order) prolong(reply time.Time) {
	o.lost = false
	if o.atEnd != nil {
		o.atEnd.Stop()
	}
	o.end = reply.Add(o.wants.TTL)
	o.atEnd = time.AfterFunc(time.Until(o.end), func() {
		o.tell(func() {
			if !o.lost && o.released.IsZero() && !time.Now().Before(o.end) {
				o.tellOver()
			}
		})
	})
}

// tellLost narrates that the rung has cancelled the work, unless the cause is unrelated to the lease.
func (o *Order) tellLost(cause error) {
	switch {
	case o.lost || !o.released.IsZero():
		return
	case errors.Is(cause, lock.ErrLost):
		o.lost = true
		o.say(bad, "lease lost: cancels the work")
	case errors.Is(cause, lock.ErrExhausted):
		o.lost = true
		o.say(bad, "no more renewals: cancels the work")
	}
}

// Works narrates the beginning of the business work.
func (o *Order) Works(work time.Duration) {
	o.tell(func() { o.say(quiet, fmt.Sprintf("works for %v", work)) })
}

// Sold narrates the units taken, product by product.
func (o *Order) Sold(left []int64) {
	o.tell(func() {
		if o.wants.Items[0].Quantity == 0 {
			return
		}
		o.ended = true
		for i, item := range o.wants.Items {
			units := fmt.Sprintf("unit %d", left[i]+1)
			if item.Quantity > 1 {
				units = fmt.Sprintf("units %d to %d", left[i]+1, left[i]+item.Quantity)
			}
			text := fmt.Sprintf("sold %s%s, wrote %d", units, o.of(item.Product), left[i])
			if o.lost {
				o.say(bad, text+", without a lease")
			} else {
				o.say(good, text)
			}
		}
	})
}

// of names the product if the order has several.
func (o *Order) of(product string) string {
	if len(o.wants.Items) == 1 {
		return ""
	}
	return " of " + product
}

// Failed narrates, once, why nothing was sold, and reports whether the narration says it all. A nil error is no
// failure. The cause of an unknown outcome is not printed.
func (o *Order) Failed(err error) (told bool) {
	o.tell(func() {
		if err == nil || o.ended {
			return
		}
		o.ended = true
		o.tellLost(err)
		verb := "not sold: "
		if o.wants.Items[0].Quantity == 0 {
			verb = "not read: "
		}
		switch {
		case errors.Is(err, stock.ErrUnknown):
			o.say(bad, "sold or not? the write was sent, and no reply came")
		case errors.Is(err, stock.ErrStale):
			o.say(bad, verb+"the stock refuses "+o.staleFence(stock.Newest(err)))
		case errors.Is(err, lock.ErrLost):
			o.say(bad, verb+lock.ErrLost.Error())
		case errors.Is(err, context.Canceled):
			o.say(slow, verb+"the client has gone")
		default:
			o.say(slow, verb+err.Error())
		}
	})
	return o != nil && err != nil && !errors.Is(err, stock.ErrUnknown)
}

// staleFence compares the order's fence with the newest that the stock has seen, by the digits that differ.
func (o *Order) staleFence(newest int64) string {
	ours, theirs := strconv.FormatInt(o.fence, 10), strconv.FormatInt(newest, 10)
	if len(ours) == len(theirs) {
		same := 0
		for same < len(ours)-1 && ours[same] == theirs[same] {
			same++
		}
		if same > 0 {
			ours, theirs = "…"+ours[same:], "…"+theirs[same:]
		}
	}
	return fmt.Sprintf("fence %s, older than %s by %s", ours, theirs, difference(newest-o.fence))
}

// difference returns how much newer a fence is. The rungs whose stock checks fences draw them from Redis' clock, in
// microseconds. They count on from the last one if the clock has not passed it, and if a lease is handed on: so less
// than a millisecond is a count, not a time.
func difference(fences int64) string {
	switch d := time.Duration(fences) * time.Microsecond; {
	case d < time.Millisecond:
		return strconv.FormatInt(fences, 10)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// Nested narrates that the work takes the order's own lock again, and the result.
func (o *Order) Nested(step string) {
	o.tell(func() { o.say(plain, step) })
}

// Released narrates what the release found and did. Unlocked is the error of [lock.Lease].Unlock. It reports whether
// the narration says that the lease was lost, or could not be released.
func (o *Order) Released(lease *lock.Lease, unlocked error) (told bool) {
	o.tell(func() {
		if o.atEnd != nil {
			o.atEnd.Stop()
		}
		if o.unwatch != nil {
			o.unwatch()
		}
		o.released = time.Now()
		if lease.Token != "" {
			o.say(o.release(unlocked))
			told = o.lost || unlocked != nil
		}
	})
	return told
}

// release returns the line about a release. A DEL removes any key: if it was sent after the lease had expired and still
// found a key, that was another's.
func (o *Order) release(unlocked error) (tone, string) {
	switch {
	case errors.Is(unlocked, lock.ErrLost) && o.found == nil:
		return bad, "lease lost: the key was gone or another's"
	case errors.Is(unlocked, lock.ErrLost) && *o.found == "nil":
		return bad, "lease lost: the key was gone"
	case errors.Is(unlocked, lock.ErrLost):
		return bad, "lease lost: leaves another's key alone"
	case unlocked != nil:
		return bad, "release failed: " + strings.TrimPrefix(unlocked.Error(), "release: ")
	case o.deleted != nil && *o.deleted == "0":
		return bad, "lease lost: no key was left to delete"
	case o.deleted != nil && o.late:
		return bad, "DELETED ANOTHER'S KEY: its own had expired"
	case o.deleted != nil:
		return good, "released: deleted the key"
	}
	return good, "released"
}
