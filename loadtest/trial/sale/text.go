package sale

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// SharesUnseen describes a lock whose keys are unknown.
const SharesUnseen = "two orders share a lock, but the trial does not know its keys"

// String returns the passport as one paragraph.
func (p *Passport) String() string {
	parts, closest := p.Parts()
	if closest != "" {
		parts = append(parts, "closest rung: "+closest)
	}
	return strings.Join(parts, "; ")
}

// Parts returns the facts of the lock, each in a few words, and the closest rung, "" if no two orders share a lock.
func (p *Passport) Parts() (parts []string, closest string) {
	switch {
	case len(p.Locks) > 0:
		return p.partsOfLock(), p.Closest()
	case p.Apart != "":
		return []string{fmt.Sprintf("no lock that two orders share: each %s has a key of its own", p.Apart)}, ""
	case p.Unseen:
		return []string{SharesUnseen + ": only the stock is judged"}, ""
	case p.PerCustomer:
		parts = []string{"no lock that two orders share: " + p.NeverMeet(), "only the stock is judged"}
	case p.Own != "":
		parts = []string{fmt.Sprintf("no lock: each %s has a key of its own, which keeps no order out", p.Own),
			"only the stock is judged"}
	default:
		parts = []string{"no lock key in this Redis: only the stock is judged"}
	}
	if p.Elsewhere && !p.PerCustomer {
		parts = append(parts, cmp.Or(p.ToDatabase.Why,
			fmt.Sprintf("a sale sends %d requests to the database", p.ToDatabase.All)))
	}
	if p.LockFree {
		parts = append(parts, "the write depends on the stock's current value")
	}
	return parts, p.Closest()
}

func (p *Passport) partsOfLock() []string {
	parts := []string{fmt.Sprintf("lock: %s %s, %s", p.Kind, Quoted(p.Locks), p.Acquire)}
	switch {
	case p.TTLLater:
		parts = append(parts, fmt.Sprintf("TTL %s, set by a second command", p.TTL))
	case p.InValue > 0:
		parts = append(parts, fmt.Sprintf("lease %s, kept in its %s", p.InValue, p.Where()))
	case p.TTL == 0:
		parts = append(parts, "no TTL")
	default:
		parts = append(parts, "lease "+p.TTL.String()+Either(p.ExpiresInASale(), ", shorter than a sale takes", ""))
	}
	beside := p.companions()
	names := make([]string, len(beside))
	for i := range beside {
		names[i] = Either(beside[i].Key == p.Keys[0].Key, strings.Join(beside[i].Parts, ", "), beside[i].Key.String())
	}
	parts = append(parts, Either(p.Token, "a new value each time (a token)",
		Either(p.Name, "one value per instance", "the same value each time (no token)"))+
		Either(len(names) > 0, ", kept in "+Quoted(names), ""))
	if p.Release == "" {
		parts = append(parts, "not released")
	} else {
		parts = append(parts, "released by "+p.Release+Either(p.Early, ", before the stock is written", "")+
			Either(p.KeptSoldOut, ", but kept by an order that is refused as sold out", "")+
			Either(p.FreedTwice, ", twice by an order that is refused as sold out", ""))
	}
	if p.Every > 0 {
		parts = append(parts, "renewed every "+rounded(p.Every)+
			Either(p.Shared, ", on the sale's connection", ""))
	} else {
		parts = append(parts, "not renewed"+Either(p.Patience > 0 && !p.Slow && p.Patience < p.TTL,
			" for as long as the trial could hold it", ""))
	}
	parts = append(parts, "waiters "+p.Waiting, "fence: "+Either(p.Fence, "a growing number in the write", "none"))
	if p.Patience > 0 {
		parts = append(parts, "your client gives up on a reply after "+p.Patience.Round(100*time.Millisecond).String()+
			Either(p.Resends, ", and retries the command", ""))
	} else {
		parts = append(parts, "your client waits for a reply for longer than a lease")
	}
	if p.Elsewhere {
		parts = append(parts, p.ToDatabase.String())
	}
	if p.Fixed != "" {
		parts = append(parts, fmt.Sprintf("its key contains a value of the order, `%s`: orders with another do not compete",
			history.Clip(p.Fixed)))
	}
	return parts
}

// Where returns the part of the lock that contains the expiry, for a lease that is no TTL, or what does beside it.
func (p *Passport) Where() string {
	if p.EndsIn != "" {
		return Quoted([]string{p.EndsIn})
	}
	return Either(p.Kind == "zset", "score", "value")
}

// NeverMeet is why locks of different customers prove nothing. If their orders lose units, it is a defect.
func (p *Passport) NeverMeet() string {
	return Either(p.Lost, "the lock's key contains a value of the order: customers do not compete for it, and the stock "+
		"is for all; leave the customer out of the key",
		"orders of different customers do not compete: use a fixed customer and --units 1")
}

// rounded formats a time to a tenth of a second, or finer if it is short.
func rounded(d time.Duration) string {
	if d < time.Second/2 {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// Quoted returns the names of keys in a text.
func Quoted(keys []string) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = "`" + history.Clip(key) + "`"
	}
	return strings.Join(all, ", ")
}

// Either returns one text or the other one.
func Either(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}
