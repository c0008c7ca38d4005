package learn

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// described returns a passport with what three plain sales show: what each command of a sale does, and how the lock is
// acquired and released. It sends nothing: the keys of the lock, and what held orders have shown, stay as they are.
func described(p sale.Passport, sales []*plainSale, of *shop.Shop) sale.Passport {
	steps := make([][]sale.Step, len(sales))
	for i, s := range sales {
		steps[i] = s.steps(&p, of.Shelf())
		for _, w := range s.writes {
			p.LockFree, p.ReadBack = p.LockFree || w.Counts, p.ReadBack || w.ReadBack
		}
	}
	p.Steps, p.Ahead = steps[2], 0
	if of.Order.IsProgram() {
		p.Ahead = firstOf(&p, p.Steps)
	}
	tellTimes(&p, sales, steps)
	p.Acquire, p.AcquireArgs, p.ReleaseVerbs, p.Compares, p.Early, p.TTLLater = "", nil, nil, false, false, false
	p.Acquires, p.Releases, p.Renewals, p.Writes = sale.Shapes{}, sale.Shapes{}, sale.Shapes{}, sale.Shapes{}
	for _, one := range slices.Concat(steps...) {
		classify(&p, &one)
	}
	p.Granted = granted(steps)
	tellTaken(&p)
	if len(p.Keys) > 0 && p.BeforeWrite() == nil {
		tellLease(&p, sales[2])
	}
	tellReleased(&p)
	tellReading(&p)
	p.Overwrites = overwrites(&p)
	p.Fixed = ""
	for _, lock := range p.Keys {
		others := slices.DeleteFunc(slices.Clone(p.Keys), func(l wire.Lock) bool { return l.Key == lock.Key })
		if !slices.ContainsFunc(others, lock.IsLike) { // the numbers of a majority's keys are their own
			p.Fixed = cmp.Or(p.Fixed, fixedValue(of.Order, of.Product, lock.Name))
		}
	}
	p.Watches = slices.ContainsFunc(p.Steps, func(s sale.Step) bool { return s.Shape.Verb == "watch" })
	p.Fence = grows(steps, &p)
	p.Token = !maps.Equal(values(steps[0]), values(steps[2]))
	p.Name = !p.Token && !maps.Equal(values(steps[0]), values(steps[1]))
	return p
}

// steps returns the commands of a sale as its steps.
func (s *plainSale) steps(p *sale.Passport, shelf wire.Shelf) (steps []sale.Step) {
	for _, c := range s.commands {
		steps = append(steps, sale.Step{Shape: p.ShapeOf(&c.Seen, shelf), Effects: c.Effects, Args: c.Args,
			Queued: c.Queued})
	}
	return steps
}

// firstOf returns the index of the step by which a sale first tries to acquire the lock or, if there is none, first
// accesses the stock. It is 0 if there is no such step.
func firstOf(p *sale.Passport, steps []sale.Step) int {
	return max(0, slices.IndexFunc(steps, func(s sale.Step) bool {
		if len(p.Keys) > 0 {
			return s.Shape.IsOnLock() || s.Has((*history.Command).Acquires)
		}
		return s.Has((*history.Command).ReadsStock) || s.Has((*history.Command).WritesStock)
	}))
}

// tellTimes records how long an order takes before it tries to acquire the lock, at most, and how long it holds the
// lock, at least: until it is released or, if its lease was too short for that, until the last command on it.
func tellTimes(p *sale.Passport, sales []*plainSale, steps [][]sale.Step) {
	p.Lead, p.UnderLock = 0, 0
	for i, s := range sales {
		first := firstOf(p, steps[i])
		if first >= len(s.commands) {
			continue
		}
		p.Lead = max(p.Lead, s.commands[first].Came.Sub(s.sent))
		took := record.AcquiredAt(s.commands)
		held := time.Duration(0)
		for k := first; k < len(s.commands) && !took.IsZero(); k++ {
			one := &steps[i][k]
			if one.Shape.IsOnLock() || one.Has((*history.Command).Releases) || one.Has((*history.Command).WritesStock) {
				held = s.commands[k].Sent.Sub(took)
			}
			if one.Has((*history.Command).Releases) {
				break
			}
		}
		if i == 0 || held < p.UnderLock {
			p.UnderLock = held
		}
	}
}

// values returns the digests of the values that a sale gave the lock by its acquires, or beside it, by key. Keys that
// are acquired at once come in any order.
func values(steps []sale.Step) map[string]string {
	values := map[string]string{}
	for _, one := range steps {
		for i := range one.Effects {
			if e := &one.Effects[i]; (sale.Acquired(e) || e.Names()) && e.Gives() != "" {
				values[e.Key] = e.Gives()
			}
		}
	}
	return values
}

// granted returns the replies to acquires that succeeded, by shape, "" where they differ.
func granted(sales [][]sale.Step) map[sale.Shape]string {
	replies := map[sale.Shape]string{}
	for _, s := range slices.Concat(sales...) {
		for i := range s.Effects {
			e := &s.Effects[i]
			if last, known := replies[s.Shape]; sale.Acquired(e) {
				replies[s.Shape] = sale.Either(!known || last == e.Reply, e.Reply, "")
			}
		}
	}
	return replies
}

// tellTaken records from the steps of one sale how the lock is acquired.
func tellTaken(p *sale.Passport) {
	endless := false
	for _, one := range p.Steps {
		endless = endless || one.Has(sale.Acquired) && one.Has((*history.Command).Endless)
		switch {
		case one.Has((*history.Command).WritesStock):
			return
		case one.Has(sale.Acquired) && p.Acquire == "":
			if p.AcquireArgs = one.Args; one.Shape.Verb == "exec" {
				p.AcquireArgs = nil
			}
			p.Acquire = acquireText(p.AcquireArgs)
		case one.Has((*history.Command).Prolongs) && endless:
			p.TTLLater = true
		}
	}
}

// tellLease records the kind and the TTL of a lock that no order can be held under, since one command acquires it and
// writes the stock.
func tellLease(p *sale.Passport, s *plainSale) {
	for _, c := range s.commands {
		if _, after, looked := s.looker.States(c.Cmd, p.Keys[0].Key); looked && c.Did(sale.Acquired) {
			p.Kind, p.TTL = after.Kind, after.TTL().Round(10*time.Millisecond)
			if p.AcquireArgs = c.Args; c.Name == "exec" {
				p.AcquireArgs = nil
			}
			p.Acquire = acquireText(p.AcquireArgs)
			return
		}
	}
}

// tellReleased records from the steps of one sale how the lock is released.
func tellReleased(p *sale.Passport) {
	wrote, released := false, false
	for _, one := range p.Steps {
		wrote = wrote || one.Has((*history.Command).WritesStock)
		releases := one.Has((*history.Command).Releases)
		if releases {
			released, p.Early = true, p.Early || !wrote
		}
		looks := wrote && !released && one.Shape.IsOnLock() && !one.Has((*history.Command).Prolongs)
		if (releases || looks) && !p.Writes[one.Shape] {
			addRelease(p, &one)
		}
		wrote = wrote || p.Elsewhere && one.Has(sale.Acquired) // the work follows the acquire
	}
	p.Joint = released && len(p.ReleaseVerbs) == 0
	if p.ReleaseVerbs = slices.Compact(p.ReleaseVerbs); !released {
		p.ReleaseVerbs = nil
	}
	p.Release = releaseText(p)
}

// classify records what commands of a step's shape do.
func classify(p *sale.Passport, s *sale.Step) {
	if s.Has((*history.Command).WritesStock) {
		p.Writes[s.Shape] = true
		p.LockFree = p.LockFree || s.Shape.Verb == "exec" || sale.IsScript(s.Shape.Verb)
		return
	}
	if s.Has(sale.Acquired) {
		p.Acquires[s.Shape] = true
	}
	if s.Has((*history.Command).Releases) {
		p.Releases[s.Shape] = true
	}
}

// acquireText describes the command that acquires the lock, without its value; nil is a transaction. Clients send the
// options of a SET in any order; the text has the condition before the TTL.
func acquireText(args []string) string {
	if len(args) == 0 {
		return "in a transaction"
	}
	verb := strings.ToUpper(args[0])
	if sale.IsScript(verb) {
		return "by a script"
	}
	if verb != "SET" && verb != "SETNX" {
		return "by " + verb
	}
	text := []string{verb}
	var ttl []string
	for i := 3; i < len(args); i++ {
		switch option := strings.ToUpper(args[i]); option {
		case "NX", "XX", "GET":
			text = append(text, option)
		case wire.Condition(args):
			text = append(text, option)
			i++ // a value
		default:
			ttl = append(ttl, option)
		}
	}
	return strings.Join(append(text, ttl...), " ")
}

// addRelease adds a step to those that release the lock.
func addRelease(p *sale.Passport, s *sale.Step) {
	verb := strings.ToLower(s.Args[0] + " " + wire.Condition(s.Args))
	p.ReleaseVerbs = append(p.ReleaseVerbs, strings.TrimSpace(verb))
	p.Compares = p.Compares || s.Has(comparesLock)
}

// comparesLock reports whether a command compares the lock with its value, and releases it, in one step.
func comparesLock(c *history.Command) bool { return c.Releases() && c.Wire != nil && c.Wire.Compared }

// releaseText describes how the lock is released, "" if it is not.
func releaseText(p *sale.Passport) string {
	switch {
	case p.Joint:
		return withWrite
	case len(p.ReleaseVerbs) == 0 && p.LetsExpire:
		return "a shorter TTL"
	}
	how := make([]string, len(p.ReleaseVerbs))
	for i, verb := range p.ReleaseVerbs {
		how[i] = sale.Either(sale.IsScript(verb), "a script", strings.ToUpper(verb))
	}
	return strings.Join(slices.Compact(how), ", ")
}

// grows reports whether the writes of the stock contain a number that grew with every sale.
func grows(sales [][]sale.Step, p *sale.Passport) bool {
	var sent [][]string
	for _, steps := range sales {
		for _, one := range steps {
			if p.Writes[one.Shape] {
				sent = append(sent, one.Args)
				break
			}
		}
	}
	if len(sent) != 3 {
		return false
	}
	for i := range sent[0] {
		before, grew := int64(0), true
		for _, args := range sent {
			if i >= len(args) {
				return false
			}
			n, err := strconv.ParseInt(args[i], 10, 64)
			grew = grew && err == nil && n > before
			before = n
		}
		if grew {
			return true
		}
	}
	return false
}

// tellReading records whether a plain sale reads the stock under its lock, before its acquire, or never.
func tellReading(p *sale.Passport) {
	if p.Elsewhere {
		return
	}
	before := p.BeforeWrite()
	isRead := func(s sale.Step) bool { return s.Has((*history.Command).ReadsStock) }
	p.ReadsTwice = before != nil && isRead(*before) && p.ComesEarly(before)
	unread, reads := before != nil && !isRead(*before), slices.ContainsFunc(p.Steps, isRead)
	p.ReadsEarly = len(p.Locks) > 0 && unread && reads
	p.ReadsNever = (len(p.Locks) == 0 || unread) && !reads
}

var valueOfRequest = regexp.MustCompile(`[=:]\s*"?([^\s"&,{}\[\]]+)`)

// fixedValue returns the value of every order that the name of a key contains, besides the product; "" if there is
// none.
func fixedValue(order shop.Request, product, key string) string {
	for _, text := range []string{order.Path, order.Body, order.Program} {
		for _, m := range valueOfRequest.FindAllStringSubmatch(text, -1) {
			value, err := url.QueryUnescape(m[1])
			if err != nil || value == product {
				continue
			}
			if hasWord(key, value) {
				return value
			}
		}
	}
	return ""
}

// hasWord reports whether the name of a key contains a value, as a word of its own.
func hasWord(key, value string) bool {
	return regexp.MustCompile(`(^|[^\pL\pN])` + regexp.QuoteMeta(value) + `($|[^\pL\pN])`).MatchString(key)
}

// withWrite describes a release by the command that writes the stock.
const withWrite = "the command that writes the stock"

// overwrites reports whether the lock is acquired by a SET without NX, and not only over a value that means free.
func overwrites(p *sale.Passport) bool {
	if len(p.AcquireArgs) == 0 || !strings.EqualFold(p.AcquireArgs[0], "set") ||
		strings.HasSuffix(wire.Condition(p.AcquireArgs), "EQ") {
		return false
	}
	return !slices.ContainsFunc(p.AcquireArgs[min(3, len(p.AcquireArgs)):], func(arg string) bool {
		return strings.EqualFold(arg, "nx")
	})
}
