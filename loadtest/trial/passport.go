package trial

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// A Passport describes the lock of a shop, as learned from its commands.
type Passport struct {
	history.Facts

	acquire    []string // the command that takes the lock; nil if that is a transaction
	release    []string // the verbs of the commands on the lock from the write on, with conditions, in lower case
	compares   bool     // one of them compares the lock's value, and releases it, in one step
	letsExpire bool     // the holder gives the lock a shorter TTL after the write
	joint      bool     // the command that writes the stock releases the lock
	slow       bool     // there is a request for a slow order

	readBack bool // the stock has to be read back after a write
	byWrites bool // every answer looks like a sale: the writes of the stock decide

	requests requests // of a plain sale to the database

	own    string // "order" or "instance": each creates and removes a key of its own; "" if none does
	claims bool   // that key has to be absent, like a lock
	lost   bool   // two customers' orders took one unit
	fixed  string // a value of every order that is in the name of a key of the lock

	steps                        []step // of a plain sale
	acquires, releases, renewals Shapes
	writes                       Shapes
	tries                        Shapes // of an order that waits: it may look before it acquires
	background                   Shapes // of commands that the shop sends while no order is at work
	late                         map[Kind]lateCommand
	granted                      map[Shape]string // replies to acquires that succeeded, by shape; "": they differ
	scripts                      []string         // sent in full by orders
	ours                         map[string]bool  // digests of the scripts that several orders have sent; nil: any

	locks  []wire.Lock                // the keys of the lock
	held   map[wire.Key]wire.KeyState // the lock's keys while it is held
	before map[wire.Key]wire.KeyState // all keys before the first order
	endsIn string                     // what names the end of the lease beside the lock; "": the lock itself does
}

// A step is a command of a plain sale.
type step struct {
	shape   Shape
	effects []history.Command
	args    []string
	queued  [][]string // the commands of a transaction
}

// has reports whether is holds for one of the effects.
func (s *step) has(is func(*history.Command) bool) bool {
	return slices.ContainsFunc(s.effects, func(e history.Command) bool { return is(&e) })
}

// beforeWrite returns the last step before the first write of the stock: its read under the lock, if there is one,
// since other keys of the lock may be acquired in between. It is nil if the write is the first step. If the stock is
// elsewhere, it is the acquire, the last step before the work.
func (p *Passport) beforeWrite() (before *step) {
	if p.Elsewhere {
		return p.lastAcquire()
	}
	locked, read := len(p.Locks) == 0, false
	for i := range p.steps {
		s := &p.steps[i]
		locked = locked || s.has(acquired)
		reads := locked && s.has((*history.Command).ReadsStock)
		switch {
		case s.has((*history.Command).WritesStock):
			return before
		case reads, !read:
			before, read = s, read || reads
		}
	}
	return nil
}

// lastAcquire returns the last step that acquires a key of the lock, nil if there is none.
func (p *Passport) lastAcquire() (last *step) {
	for i := range p.steps {
		if p.steps[i].has(acquired) {
			last = &p.steps[i]
		}
	}
	return last
}

// comesEarly reports whether a sale also sends a command of that step's shape before it holds the lock.
func (p *Passport) comesEarly(s *step) bool {
	first := slices.IndexFunc(p.steps, func(one step) bool { return one.has(acquired) })
	return slices.ContainsFunc(p.steps[:max(0, first)], func(one step) bool { return one.shape == s.shape })
}

// aheadOf returns how many commands of that step's shape a sale sends between its acquire and that step.
func (p *Passport) aheadOf(s *step) (n int) {
	for i := range p.steps {
		switch one := &p.steps[i]; {
		case one == s:
			return n
		case one.has(acquired):
			n = 0
		case one.shape == s.shape:
			n++
		}
	}
	return n
}

// tellReading records whether a plain sale reads the stock under its lock, before its acquire, or never.
func (p *Passport) tellReading() {
	if p.Elsewhere {
		return
	}
	before := p.beforeWrite()
	isRead := func(s step) bool { return s.has((*history.Command).ReadsStock) }
	p.ReadsTwice = before != nil && isRead(*before) && p.comesEarly(before)
	unread := len(p.Locks) > 0 && before != nil && !isRead(*before)
	p.ReadsEarly = unread && slices.ContainsFunc(p.steps, isRead)
	p.ReadsNever = unread && !p.ReadsEarly
}

// afterWrite returns the steps on the lock after the last write of the stock, or after the acquire if the stock is
// elsewhere: the release.
func (p *Passport) afterWrite() (release []step) {
	for _, i := range p.releasedAt() {
		release = append(release, p.steps[i])
	}
	return release
}

// releasedAt returns the indices of the steps of afterWrite.
func (p *Passport) releasedAt() (at []int) {
	for i := range p.steps {
		switch s := &p.steps[i]; {
		case s.has((*history.Command).WritesStock), p.Elsewhere && s.has(acquired):
			at = nil
		case p.releases[s.shape] || s.shape.IsOnLock():
			at = append(at, i)
		}
	}
	return at
}

// Closest returns the rung that is most like the lock.
func (p *Passport) Closest() string {
	family := cause.Family(&p.Facts)
	atOnce := p.joint || p.compares || slices.ContainsFunc(p.release, func(verb string) bool {
		return isScript(verb) || verb == "watch"
	})
	switch {
	case family != "v4" || len(p.Locks) == 0:
		return family
	case p.TTL == 0 && p.InValue == 0 && !p.TTLLater:
		return "v1"
	case p.TTLLater:
		return "v1.5"
	case atOnce:
		return "v4"
	case len(p.release) > 1:
		return "v3"
	}
	return "v2"
}

// where returns the part of the lock that contains the expiry, for a lease that is no TTL, or what does beside it.
func (p *Passport) where() string {
	if p.endsIn != "" {
		return quoted([]string{p.endsIn})
	}
	return either(p.Kind == "zset", "score", "value")
}

// neverMeet is why locks of different customers prove nothing. If their orders lose units, it is a defect.
func (p *Passport) neverMeet() string {
	return either(p.lost, "the lock's key contains a value of the order: customers do not compete for it, and the stock "+
		"is for all; leave the customer out of the key",
		"orders of different customers do not compete: use a fixed customer and --units 1")
}

var valueOfRequest = regexp.MustCompile(`[=:]\s*"?([^\s"&,{}\[\]]+)`)

// fixedValue returns the value of every order that the name of a key contains, besides the product; "" if there is
// none.
func (t *Trial) fixedValue(key string) string {
	for _, text := range []string{t.Order.Path, t.Order.Body} {
		for _, m := range valueOfRequest.FindAllStringSubmatch(text, -1) {
			value, err := url.QueryUnescape(m[1])
			if err != nil || value == t.Product {
				continue
			}
			word := regexp.MustCompile(`(^|[^\pL\pN])` + regexp.QuoteMeta(value) + `($|[^\pL\pN])`)
			if word.MatchString(key) {
				return value
			}
		}
	}
	return ""
}

// sharesUnseen describes a lock whose keys are unknown.
const sharesUnseen = "two orders share a lock, but the trial does not know its keys"

// withWrite describes a release by the command that writes the stock.
const withWrite = "the command that writes the stock"

// overwrites reports whether the lock is acquired by a SET without NX, and not only over a value that means free.
func (p *Passport) overwrites() bool {
	if len(p.acquire) == 0 || !strings.EqualFold(p.acquire[0], "set") ||
		strings.HasSuffix(wire.Condition(p.acquire), "EQ") {
		return false
	}
	return !slices.ContainsFunc(p.acquire[min(3, len(p.acquire)):], func(arg string) bool {
		return strings.EqualFold(arg, "nx")
	})
}

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
		return []string{sharesUnseen + ": only the stock is judged"}, ""
	case p.PerCustomer:
		parts = []string{"no lock that two orders share: " + p.neverMeet(), "only the stock is judged"}
	case p.own != "":
		parts = []string{fmt.Sprintf("no lock: each %s has a key of its own, which keeps no order out", p.own),
			"only the stock is judged"}
	default:
		parts = []string{"no lock key in this Redis: only the stock is judged"}
	}
	if p.Elsewhere && !p.PerCustomer {
		parts = append(parts, cmp.Or(p.requests.why,
			fmt.Sprintf("a sale sends %d requests to the database", p.requests.all)))
	}
	if p.LockFree {
		parts = append(parts, "the write depends on the stock's current value")
	}
	return parts, p.Closest()
}

func (p *Passport) partsOfLock() []string {
	parts := []string{fmt.Sprintf("lock: %s %s, %s", p.Kind, quoted(p.Locks), p.Acquire)}
	switch {
	case p.TTLLater:
		parts = append(parts, fmt.Sprintf("TTL %s, set by a second command", p.TTL))
	case p.InValue > 0:
		parts = append(parts, fmt.Sprintf("lease %s, kept in its %s", p.InValue, p.where()))
	case p.TTL == 0:
		parts = append(parts, "no TTL")
	default:
		parts = append(parts, "lease "+p.TTL.String()+either(p.TTL < p.Takes, ", shorter than a sale takes", ""))
	}
	beside := p.companions()
	names := make([]string, len(beside))
	for i := range beside {
		names[i] = either(beside[i].Key == p.locks[0].Key, strings.Join(beside[i].Parts, ", "), beside[i].Key.String())
	}
	parts = append(parts, either(p.Token, "a new value each time (a token)",
		either(p.Name, "one value per instance", "the same value each time (no token)"))+
		either(len(names) > 0, ", kept in "+quoted(names), ""))
	if p.Release == "" {
		parts = append(parts, "not released")
	} else {
		parts = append(parts, "released by "+p.Release+either(p.Early, ", before the stock is written", "")+
			either(p.KeptSoldOut, ", but kept by an order that is refused as sold out", "")+
			either(p.FreedTwice, ", twice by an order that is refused as sold out", ""))
	}
	if p.Every > 0 {
		parts = append(parts, "renewed every "+rounded(p.Every)+
			either(p.Shared, ", on the sale's connection", ""))
	} else {
		parts = append(parts, "not renewed"+either(p.Patience > 0 && !p.slow && p.Patience < p.TTL,
			" for as long as the trial could hold it", ""))
	}
	parts = append(parts, "waiters "+p.Waiting, "fence: "+either(p.Fence, "a growing number in the write", "none"))
	if p.Patience > 0 {
		parts = append(parts, "your client gives up on a reply after "+p.Patience.Round(100*time.Millisecond).String()+
			either(p.Resends, ", and retries the command", ""))
	} else {
		parts = append(parts, "your client waits for a reply for longer than a lease")
	}
	if p.Elsewhere {
		parts = append(parts, p.requests.String())
	}
	if p.fixed != "" {
		parts = append(parts, fmt.Sprintf("its key contains a value of the order, `%s`: orders with another do not compete",
			history.Clip(p.fixed)))
	}
	return parts
}

// rounded formats a time to a tenth of a second, or finer if it is short.
func rounded(d time.Duration) string {
	if d < time.Second/2 {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func either(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}

// quoted returns the names of keys in a text.
func quoted(keys []string) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = "`" + history.Clip(key) + "`"
	}
	return strings.Join(all, ", ")
}
