package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// What breaks by design is what the repaired rung of a lock's family breaks under that fault, whoever wrote it: a lease
// that nobody renews (v4), one that is renewed (v5.5), a fenced write (v15). A write that depends on what is there
// (v17) breaks under none.
var byDesign = map[string]map[string]string{
	"v4": {"slow-work": "SE", "pause": "SE", "late": "SE", "key-removed": "SE", "server-restart": "SE", "cut-off": "SE"},
	"v5.5": {"pause": "SE", "late": "SE", "key-removed": "SE", "renewals-lost": "SE", "server-restart": "SE",
		"cut-off": "SE"},
	"v15": {"slow-work": "E", "pause": "E", "late": "E", "key-removed": "E", "renewals-lost": "E", "server-restart": "E",
		"cut-off": "E"},
}

// because says why it is by design.
var because = map[string]string{
	"v4":   "a lease that nobody renews ends under its holder, as v4's does; renew it (v5.5) or fence the write (v15)",
	"v5.5": "no lease protects a write that is sent after it, as with v5.5; fence the write (v15)",
	"v15":  "the lock is lost, and the stock refuses the late write, as with v15",
}

// ofFault says so of faults that no lock survives without a fence, whatever its family.
var ofFault = map[string]string{
	"late": "a write that is under way outlives its lock, whatever the lock; fence the write (v15)",
	"key-removed": "the trial took the lock away under its holder, and no lock protects a write that comes after that; " +
		"fence the write (v15)",
	"server-restart": "the Redis lost the lock under its holder, and no lock protects a write that comes after that; " +
		"fence the write (v15)",
}

// Asked are the verdicts that a trial asks about.
var Asked = []history.Verdict{history.Stock, history.Exclusion, history.OwnRelease, history.Liveness}

// broken returns the letters of what is broken.
func broken(c *history.Cell) string { return terminal.LettersOf(c.Findings, history.Broken) }

// explain says of a cell what is a defect, and what is by design.
func (b *bench) explain(f fault, c *history.Cell, record map[*order][]observation) {
	p, lost := b.passport, broken(c)
	seen := b.seen(record)
	if history.Worst(c.Findings) == history.Invalid {
		c.Defect = cmp.Or(seen, b.keptOut(c, record))
		return
	}
	c.Remarks = b.remarks(record)
	name, _, _ := strings.Cut(f.name, " ")
	allowed := byDesign[p.family()][name]
	if p.Apart != "" {
		allowed = ""
	}
	switch {
	case seen != nil:
		c.Defect = seen
	case lost == "":
	case anyTwice(c):
		c.Defect = &history.Defect{Cause: "the write was sent again", Shown: c.Finding(history.Stock).Because}
	case strings.Trim(lost, allowed) == "" && b.ended(f, record):
		c.Design = cmp.Or(ofFault[name], because[p.family()])
		if p.family() == "v15" || b.wroteInVain(record[b.annas()]) {
			c.Design = because["v15"]
		}
	default:
		c.Defect = b.cause(c, record)
	}
}

// wroteInVain reports whether the command that writes the stock found that the lock was lost, and wrote nothing.
func (b *bench) wroteInVain(commands []observation) bool {
	return slices.ContainsFunc(commands, func(c observation) bool {
		return b.passport.writes[b.shape(&c.Seen)] && !c.Answered.IsZero() && !anyOf(c.effects, (*history.Command).Wrote) &&
			!anyOf(c.effects, (*history.Command).ReadsStock)
	})
}

// An effect is what a command did to a key of the lock, or to the stock.
type effect struct {
	observation
	history.Command
}

func effectsOf(commands []observation) (all []effect) {
	for _, c := range commands {
		for _, e := range c.effects {
			all = append(all, effect{c, e})
		}
	}
	return all
}

func (d *effect) took() bool { return acquired(&d.Command) }

// before reports whether an order sent a command before another on one connection, so that no Redis gets them in the
// other order, though a trial may hold the first.
func (d *effect) before(other *effect) bool { return d.Conn == other.Conn && d.Came.Before(other.Came) }

func (d *effect) sold() bool { return d.WritesStock() && d.Wrote() }

// A course goes through the effects of one order, with the keys of the lock that it holds, until one is a defect.
type course struct {
	*bench
	record map[*order][]observation
	order  *order

	has      map[string]time.Time // the keys that it took, heard of, and did not release
	asked    bool                 // it took the lock, whether or not it heard so
	tried    time.Time
	released *effect
}

// seen returns a defect that an order's own commands show, whatever came of it.
func (b *bench) seen(record map[*order][]observation) *history.Defect {
	for _, o := range b.orders {
		c := &course{bench: b, record: record, order: o, has: map[string]time.Time{}}
		for _, d := range effectsOf(record[o]) {
			if defect := c.next(&d); defect != nil {
				return defect
			}
		}
		if defect := b.unwoken(o, record); defect != nil {
			return defect
		}
	}
	return nil
}

// defect returns a defect of that cause.
func defect(cause, shown string, args ...any) *history.Defect {
	return &history.Defect{Cause: cause, Shown: fmt.Sprintf(shown, args...)}
}

// unwoken tells of an order that waited in vain for a lock that had been given back, for as long as a fresh order may
// take: stock is left in every cell. Whoever sleeps beyond the end of a lease is found by fresh orders, when its holder
// has died.
func (b *bench) unwoken(o *order, record map[*order][]observation) *history.Defect {
	until := o.ended
	if until.IsZero() && o.waited {
		until = o.sent.Add(b.httpTime())
	}
	if until.IsZero() || o.outcome == history.Sold || len(b.extra) > 0 || !b.waits(record[o]) {
		return nil
	}
	freed, free := b.freeAt(until, record, 0)
	if freed = later(freed, o.sent); !free || until.Sub(freed) < margin+b.stalled {
		return nil
	}
	return defect("nobody wakes a waiter", "%s got no unit in %s after the lock had been given back, though nobody had it",
		b.nameOf(o), since(freed, until))
}

// waits reports whether an order of these commands asked for the lock, did not get it, and has not sold. A renewal asks
// for none.
func (b *bench) waits(commands []observation) (waits bool) {
	for _, d := range effectsOf(commands) {
		shape := b.shape(&d.Seen)
		switch {
		case b.passport.renewals[shape] && !b.passport.acquires[shape]:
		case d.sold():
			return false
		case d.took() && !d.Delivered.IsZero():
			waits = false
		case d.Acquires(), d.Releases():
			waits = true
		}
	}
	return waits
}

// freeAt reports whether the lock was free at that moment, and since when. A lock that nobody renews ends after a
// lease, 0 means never.
func (b *bench) freeAt(
	then time.Time, record map[*order][]observation, lease time.Duration,
) (since time.Time, free bool) {
	has := map[string]time.Time{} // the keys that are held, and when each was acquired or renewed last
	for _, d := range b.inOrder(record) {
		switch {
		case d.Sent.After(then):
		case d.took(), d.Prolongs() && !has[d.Key].IsZero():
			has[d.Key] = d.Sent
		case d.Releases():
			delete(has, d.Key)
			since = d.Sent
		}
	}
	for key, taken := range has {
		if ends := taken.Add(lease); lease > 0 && ends.Before(then) {
			delete(has, key)
			since = later(since, ends)
		}
	}
	return since, len(has) == 0
}

// keptOut returns the defect that kept fresh orders out, if the commands show it although the machine was busy: a key
// stayed, or a waiter slept, for longer than the verdict allows and the longest stall explains.
func (b *bench) keptOut(c *history.Cell, record map[*order][]observation) *history.Defect {
	last := history.Op{Outcome: history.Sold}
	for _, op := range c.Ops {
		if op.Phase == history.Probe {
			last = op
		}
	}
	if last.Outcome == history.Sold || len(b.extra) > 0 {
		return nil
	}
	for _, o := range b.orders {
		if defect := cmp.Or(b.stands(o, record), b.sleeps(o, record)); defect != nil {
			return defect
		}
	}
	return nil
}

// stands returns a defect if an order still found a key for longer than a fresh order may take after the end of the
// order that acquired it last. Of several holders it is not known whose the key is.
func (b *bench) stands(o *order, record map[*order][]observation) *history.Defect {
	for _, d := range effectsOf(record[o]) {
		owner := b.ownerBefore(&d, record)
		if owner == nil || d.took() || !d.Prolongs() && (!d.Acquires() || owner == o) {
			continue
		}
		over := b.workedUntil(owner)
		known := !over.IsZero()
		for _, own := range effectsOf(record[owner]) {
			if own.Key == d.Key && own.took() && own.Sent.Before(d.Sent) {
				over = later(over, own.Sent) // an acquire may come late
				known = known && own.AcquiresAlone()
			}
		}
		if known && d.Sent.Sub(over) > b.patience()+b.stalled {
			return defect(b.whyStuck(record), "%s's %s found %s %s after the order of %s was over", b.nameOf(o), d.Name, d.Key,
				since(over, d.Sent), b.nameOf(owner))
		}
	}
	return nil
}

// workedUntil returns when an order was over: when it was answered, or its instance killed. It is zero if it was
// neither.
func (b *bench) workedUntil(o *order) time.Time {
	died := b.diedAt(o.at)
	if died.Known() && (o.ended.IsZero() || died < b.since(o.ended)) {
		return b.begun.Add(time.Duration(died))
	}
	return o.ended
}

// sleeps returns a defect if an order that had asked for the lock did not poll though it was free, by a release or as
// its lease had expired.
func (b *bench) sleeps(o *order, record map[*order][]observation) *history.Defect {
	freed, free := b.freeAt(o.over, record, b.passport.TTL)
	freed = later(freed, o.sent)
	asked := slices.ContainsFunc(effectsOf(record[o]), func(d effect) bool { return d.Acquires() })
	awake := slices.ContainsFunc(record[o], func(c observation) bool { return c.Came.After(freed) })
	if !free || !asked || awake || !tookAt(record[o]).IsZero() || o.over.Sub(freed) < margin+b.stalled {
		return nil
	}
	return defect(b.whyStuck(record), "%s slept on for %s though the lock was free", b.nameOf(o), since(freed, o.over))
}

// inOrder returns what all orders did, in the order in which the Redis got it, and what several may have done.
func (b *bench) inOrder(record map[*order][]observation) (all []effect) {
	for _, o := range append(slices.Clip(b.orders), nil) {
		all = append(all, effectsOf(record[o])...)
	}
	slices.SortStableFunc(all, func(x, y effect) int { return x.Sent.Compare(y.Sent) })
	return all
}

// next goes on to the next effect, and returns the defect that it is; nil if it is none.
func (c *course) next(d *effect) *history.Defect {
	name := c.nameOf(c.order)
	switch {
	case d.took():
		return c.acquire(d, name)
	case d.Acquires():
		c.tried = d.Sent
	case d.Releases() && !c.asked && !c.passport.Name:
		return defect("it released what it had not taken", "%s's %s removed %s", name, d.Name, d.Key)
	case d.Releases():
		delete(c.has, d.Key)
		c.released = d
	case d.sold() && len(c.has) == 0 && c.released != nil && !d.before(c.released):
		return defect("written after the release", "%s's %s of the stock came %s after it had released the lock", name,
			d.Name, since(c.released.Sent, d.Sent))
	case d.sold() && !c.asked && !c.tried.IsZero():
		return defect("sold though the lock was another's", "%s wrote the stock %s after it had found the lock taken", name,
			since(c.tried, d.Sent))
	}
	return nil
}

// acquire notes that the order acquires a key of the lock, and returns the defect that it is; nil if it is none. If the
// order holds the key already, it is a renewal.
func (c *course) acquire(d *effect, name string) *history.Defect {
	if took, has := c.has[d.Key]; has {
		if other := c.holder(c.record, c.order, d); other != nil {
			return defect("a renewal took another's lock", "%s's %s, %s after its acquire, took %s from %s", name, d.Name,
				since(took, d.Sent), d.Key, c.nameOf(other))
		}
		if c.passport.renewals[c.shape(&d.Seen)] {
			return defect("a renewal made the key again", "%s's %s made %s, which had gone, %s after its acquire", name,
				d.Name, d.Key, since(took, d.Sent))
		}
	}
	if !d.Delivered.IsZero() {
		c.has[d.Key] = d.Sent
	}
	c.asked = true
	return nil
}

// holder returns the order of another instance that has a key when it is taken, nil if none has.
func (b *bench) holder(record map[*order][]observation, not *order, taken *effect) (holder *order) {
	for _, o := range b.orders {
		if o.at == not.at {
			continue
		}
		var has time.Time // since when
		for _, d := range effectsOf(record[o]) {
			switch {
			case d.Key != taken.Key || !d.Sent.Before(taken.Sent):
			case d.took(), d.Prolongs():
				has = d.Sent.Add(-b.stalled) // the other command may have arrived at the Redis that much later
			case d.Releases():
				has = time.Time{}
			}
		}
		if ttl := b.passport.TTL; !has.IsZero() && (ttl == 0 || taken.Sent.Sub(has) < ttl) &&
			!isUnsure(taken.Key, has, taken.Sent, record) {
			holder = o
		}
	}
	return holder
}

// ended reports whether the lock of the order with the fault had ended by its TTL or by our hand before another order
// took it: what that breaks is no bug of the shop.
func (b *bench) ended(f fault, record map[*order][]observation) bool {
	name, _, _ := strings.Cut(f.name, " ")
	anna := b.annas()
	if anna == nil || name == "key-removed" || name == "server-restart" || name == "late" {
		return true
	}
	var last, free time.Time // when it took the lock or renewed it, and when it gave it back
	for _, d := range effectsOf(record[anna]) {
		switch {
		case d.took(), d.Prolongs():
			last = d.Sent
		case d.Releases() && free.IsZero():
			free = d.Sent
		}
	}
	const slack = 50 * time.Millisecond
	ends := last.Add(b.passport.TTL - slack)
	early := func(d effect) bool {
		return d.took() && d.Sent.After(last) && d.Sent.Before(ends) && (free.IsZero() || d.Sent.Before(free)) &&
			!isUnsure(d.Key, last, d.Sent, record)
	}
	return !slices.ContainsFunc(b.orders, func(o *order) bool {
		return o.at != anna.at && slices.ContainsFunc(effectsOf(record[o]), early)
	})
}

// cause names why something is broken, one of a closed list, with what shows it.
func (b *bench) cause(c *history.Cell, record map[*order][]observation) *history.Defect {
	p, lost := b.passport, broken(c)
	because := func(v history.Verdict) string { return c.Finding(v).Because }
	d := &history.Defect{Shown: history.FirstBroken(c.Findings).Because}
	switch {
	case p.Apart != "":
		d.Cause = fmt.Sprintf("each %s has a key of its own", p.Apart)
	case p.Early:
		d.Cause = "written after the release"
	case len(p.Locks) == 0 && !p.lockFree && strings.Contains(lost, "S"):
		d.Cause = "no lock: it reads the stock and writes it in two steps, as v0"
	case strings.Contains(lost, "S") && b.toldNo(record) != nil:
		d.Cause = fmt.Sprintf("it told %s no though it had written the stock", b.nameOf(b.toldNo(record)))
		d.Shown = because(history.Stock)
	case strings.Contains(lost, "R") && p.Name:
		d.Cause, d.Shown = "the value is the instance's, and its orders remove each other's lock", because(history.OwnRelease)
	case strings.Contains(lost, "R"):
		d.Cause, d.Shown = b.howItRemoved(c.Finding(history.OwnRelease), record), because(history.OwnRelease)
	case strings.Contains(lost, "L"):
		d.Cause, d.Shown = b.whyStuck(record), because(history.Liveness)
	default:
		d.Cause = p.flaw(lost)
	}
	return d
}

// flaw names what of a plain sale explains that units are sold twice, or that two have the lock.
func (p *Passport) flaw(lost string) string {
	const unknown = "of unknown cause"
	watches := slices.ContainsFunc(p.steps, func(s step) bool { return strings.HasPrefix(s.shape, "watch") })
	switch {
	case len(p.Locks) == 0 && watches:
		return "it watches the stock on a connection that its orders share, and each ends the watch of the others"
	case strings.Contains(lost, "S") && p.misread() != "":
		return p.misread()
	case strings.Contains(lost, "S") && p.Fence:
		return "the stock hears of a new number only with its write, too late for what was read before; show it with the read"
	case p.overwrites():
		return "it looks for the lock and takes it in two commands, SET without NX"
	case p.Name:
		return "the value is the instance's, and lets all its orders in"
	case p.TTL > 0 && p.TTL < p.takes:
		return "the lease ends within a plain sale"
	}
	return unknown
}

// whyStuck says why no fresh order gets through.
func (b *bench) whyStuck(record map[*order][]observation) string {
	switch p := b.passport; {
	case b.diedWaiting(record):
		return "whoever dies while it waits keeps its place in the line"
	case b.prolongsAnothers(record) != "":
		return "who waits prolongs the lock of whoever has it"
	case p.TTLLater:
		return "the lock and its TTL are two commands, as v1.5"
	case p.TTL == 0 && p.InValue == 0 && len(p.Locks) > 0:
		return "no TTL, as v1"
	case b.renewedAfter(record) != "":
		return "still renewed after the order"
	case p.messages:
		return "waiters wait for a message that a dead holder never sends, and do not look at the TTL"
	}
	return "of unknown cause"
}

// diedWaiting reports whether Anna's instance was killed while she waited for the lock.
func (b *bench) diedWaiting(record map[*order][]observation) bool {
	anna := b.annas()
	return anna != nil && b.diedAt(anna.at) != history.Never && len(b.passport.Locks) > 0 && tookAt(record[anna]).IsZero()
}

// prolongsAnothers tells of an order that prolonged the lock that another one had; "" if none did. Where the value is
// the instance's, nobody knows for which of its orders that prolongs.
func (b *bench) prolongsAnothers(record map[*order][]observation) string {
	if b.passport.Kind != "string" { // it may be shared
		return ""
	}
	for _, o := range b.orders {
		for _, d := range effectsOf(record[o]) {
			if !d.Prolongs() {
				continue
			}
			other := b.ownerBefore(&d, record)
			if other != nil && other != o && (!b.passport.Name || other.at != o.at) {
				return fmt.Sprintf("%s's %s prolonged the lock of %s: it does not look at the value", b.nameOf(o), d.Name,
					b.nameOf(other))
			}
		}
	}
	return ""
}

// ownerBefore returns the order that took a key last before an effect on it, nil if that has released it.
func (b *bench) ownerBefore(d *effect, record map[*order][]observation) (owner *order) {
	var since time.Time
	for _, o := range b.orders {
		for _, before := range effectsOf(record[o]) {
			if before.Key != d.Key || !before.Sent.Before(d.Sent) || before.Sent.Before(since) {
				continue
			}
			switch {
			case before.took():
				owner, since = o, before.Sent
			case before.Releases():
				owner, since = nil, before.Sent
			}
		}
	}
	if isUnsure(d.Key, since, d.Sent, record) {
		return nil
	}
	return owner
}

// isUnsure reports whether a key was taken or removed between two moments by a command that several orders may have
// sent.
func isUnsure(key string, from, to time.Time, record map[*order][]observation) bool {
	return slices.ContainsFunc(effectsOf(record[nil]), func(d effect) bool {
		return d.Key == key && (d.took() || d.Releases()) && d.Sent.After(from) && d.Sent.Before(to)
	})
}

// toldNo returns an order that was told no, and whose last write of the stock took a unit; nil if there is none.
func (b *bench) toldNo(record map[*order][]observation) *order {
	for _, o := range b.orders {
		wrote := slices.ContainsFunc(effectsOf(record[o]), func(d effect) bool { return d.sold() })
		if o.outcome == history.Busy && wrote {
			return o
		}
	}
	return nil
}

// howItRemoved says why an order removed another's lock.
func (b *bench) howItRemoved(f history.Finding, record map[*order][]observation) string {
	i := slices.IndexFunc(b.orders, func(o *order) bool {
		return len(f.Evidence) > 0 && f.Evidence[0].Orders[0] == b.Product+"-"+o.name
	})
	if i < 0 {
		return "it removed another's lock"
	}
	wrote, looked := false, false
	for _, d := range effectsOf(record[b.orders[i]]) {
		if d.Releases() {
			return b.howItCompared(&d, looked, b.hasValueOf(&d, b.orders[i], record))
		}
		wrote = wrote || d.WritesStock()
		looked = looked || wrote && b.passport.onLock(d.On())
	}
	return "it removed another's lock"
}

// howItCompared says what was wrong with the comparison of a release that removed another's lock, by whether it looked
// in a command before, and whether it had the other's value.
func (b *bench) howItCompared(release *effect, looked, others bool) string {
	switch {
	case others:
		return "its orders share one lock object, and release the lock by the last one's value"
	case isScript(release.Name) && !b.passport.Token:
		return "one value for all orders: each releases the lock of any other"
	case isScript(release.Name):
		return "it does not compare the whole value"
	case looked:
		return "it looks and deletes in two commands, as v3; v4 fixes it"
	}
	return "it does not look at the value, as v2; v4 fixes it"
}

// hasValueOf reports whether a release names a value by which another order acquired the lock, and its own did not.
func (b *bench) hasValueOf(release *effect, own *order, record map[*order][]observation) bool {
	values := func(o *order) (all []string) {
		for _, d := range effectsOf(record[o]) {
			if d.took() {
				all = append(all, d.values()...)
			}
		}
		return all
	}
	return b.passport.Token && slices.ContainsFunc(release.values(), func(value string) bool {
		return len(value) >= leastToken && !slices.Contains(values(own), value) &&
			slices.ContainsFunc(b.orders, func(o *order) bool { return o != own && slices.Contains(values(o), value) })
	})
}

// anyTwice reports whether an order took several units.
func anyTwice(c *history.Cell) bool {
	return slices.ContainsFunc(c.Ops, func(op history.Op) bool { return len(op.Units) > 1 })
}

// renewedAfter tells of an order whose lock was renewed after it had ended; "" if there is none.
func (b *bench) renewedAfter(record map[*order][]observation) string {
	for _, o := range b.orders {
		if o.ended.IsZero() {
			continue
		}
		for _, d := range effectsOf(record[o]) {
			if d.Prolongs() && d.Came.After(o.ended.Add(200*time.Millisecond)) {
				return fmt.Sprintf("%s's lock was renewed %s after it had been answered", b.nameOf(o), since(o.ended, d.Came))
			}
		}
	}
	return ""
}

// remarks are what changes no exit code.
func (b *bench) remarks(record map[*order][]observation) (all []string) {
	for _, text := range []string{b.renewedAfter(record), b.prolongsAnothers(record)} {
		if text != "" {
			all = append(all, text)
		}
	}
	for _, o := range b.orders {
		if text := b.keptFor(o, record); text != "" {
			all = append(all, text)
		}
		var freed time.Time
		var by *order
		for _, other := range b.orders {
			for _, d := range effectsOf(record[other]) {
				if other != o && d.Releases() {
					freed, by = d.Sent, other
				}
			}
		}
		if took := tookAt(record[o]); by != nil && took.Sub(freed) > time.Second && freed.After(o.sent) {
			all = append(all, fmt.Sprintf("%s slept on for %s though the lock was free", b.nameOf(o), since(freed, took)))
		}
	}
	return all
}

// keptFor says that a lock stayed for which nobody worked: the order that took it had not heard of it, and was told no,
// or met its own key when it asked again, and waited that out.
func (b *bench) keptFor(o *order, record map[*order][]observation) string {
	var took time.Time // without a reply
	met := false       // and then it found its own key
	for _, d := range effectsOf(record[o]) {
		switch {
		case d.took() && d.Delivered.IsZero():
			took, met = d.Sent, false
		case d.took() && met && d.Sent.Sub(took) > b.passport.TTL*3/4:
			return "a lock that nobody had stood for its lease: an acquire that is sent again meets its own key, and waits " +
				"for itself"
		case d.took(), d.Releases():
			took, met = time.Time{}, false
		case d.Acquires():
			met = !took.IsZero()
		}
	}
	if took.IsZero() || b.passport.TTL == 0 || o.outcome == history.Sold || o.left || b.diedAt(o.at) != history.Never {
		return ""
	}
	return "the lock stayed until its TTL though its order was told no: nobody undoes an acquire without a reply"
}

// nameOf returns an order as a sentence names it.
func (b *bench) nameOf(o *order) string {
	return (&history.Cell{Product: b.Product}).OrderName(b.Product + "-" + o.name)
}

func since(from, to time.Time) string { return to.Sub(from).Round(time.Millisecond).String() }
