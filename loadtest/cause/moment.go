package cause

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// A moment is a step of an order's course or, without one, the order's end.
type moment struct {
	*record
	op   *history.Course
	step *history.Event
}

func (m *moment) name() string { return m.OrderName(m.op.Order) }

func (m *moment) at() history.Instant {
	if m.step == nil {
		return m.op.Over()
	}
	return m.step.At
}

// about returns the order that a row is about: whose lock the step ends, or else its own.
func (m *moment) about(of *row) int {
	if of.kind == ending || of.kind == stray {
		if one := m.removal(); one != nil {
			return one.By
		}
		if h := m.step.Lock.HolderAt(m.step.At - 1); h.Tenure != nil {
			return h.Tenure.Order
		}
	}
	return m.op.Index
}

func (m *moment) isEnd() bool { return m.step == nil }

func (m *moment) took() bool { return m.step != nil && m.step.Acquires() && m.step.Succeeded() }

func (m *moment) sold() bool { return m.step != nil && m.step.WritesStock() && m.step.Wrote() }

func (m *moment) frees() bool { return m.step != nil && m.step.Releases() }

// renews reports whether such a command renews the lock in plain sales, and does not acquire it.
func (m *moment) renews() bool {
	return m.step.Usually(history.EffectRenewed) && !m.step.Usually(history.EffectAcquired)
}

// holder returns the order that held the key just before the step, nil if it was free, or it is unknown which did.
func (m *moment) holder() *history.Op {
	if m.step == nil || m.step.Lock == nil {
		return nil
	}
	if h := m.step.Lock.HolderAt(m.step.At - 1); h.Known && h.Tenure != nil {
		return &m.Ops[h.Tenure.Order]
	}
	return nil
}

// isCovered reports whether another order at the same instance may hold the lock for this one, at that instant.
func (m *moment) isCovered(at history.Instant) bool {
	return slices.ContainsFunc(m.line.Locks, func(l *history.Lock) bool {
		h := l.HolderAt(at)
		return !h.Known || h.Tenure != nil && m.Ops[h.Tenure.Order].Instance == m.op.Instance
	})
}

// Releases, and writes of the stock.

func releasesUnheld(m *moment) string {
	if !m.frees() || m.step.Took != nil || m.step.Granted != nil || m.facts.Name || m.isCovered(m.step.At-1) {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " removed " + m.step.Command.Key
}

func writesAfterRelease(m *moment) string {
	if !m.sold() || m.step.State != history.HasFreed || m.step.Freed == nil {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " of the stock came " + since(m.step.Freed.At, m.step.At) +
		" after it had released the lock"
}

// isUnlocked reports whether an order sells that has never held the lock, and none at its instance may hold it for it.
func (m *moment) isUnlocked() bool {
	return m.sold() && m.step.Granted == nil && m.step.State != history.HasFreed && m.step.State != history.Holds &&
		!m.op.TookBefore(m.step.At+1).Known() && len(m.facts.Locks) > 0 && !m.isCovered(m.step.At)
}

func sellsRefused(m *moment) string {
	if !m.isUnlocked() || m.step.Tried == nil {
		return ""
	}
	return m.name() + " wrote the stock " + since(m.step.Tried.At, m.step.At) + " after it had found the lock taken"
}

func sellsUnlocked(m *moment) string {
	if !m.isUnlocked() {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " of the stock came without an acquire"
}

// takesAgain reports whether an order acquires a key that it believes to hold.
func (m *moment) takesAgain() bool { return m.took() && m.step.Key.State == history.Holds }

func renewalTakesAnothers(m *moment) string {
	other := m.holder()
	if !m.takesAgain() || !m.overwrites() || other == nil || other.Instance == m.op.Instance {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + ", " + since(m.step.Key.Took.At, m.step.At) + " after its acquire, took " +
		m.step.Command.Key + " from " + m.OrderName(other.Order)
}

func renewalRecreates(m *moment) string {
	if !m.takesAgain() || !m.step.Usually(history.EffectRenewed) {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " recreated " + m.step.Command.Key + " " +
		since(m.step.Key.Took.At, m.step.At) + " after its acquire"
}

// accepted is the status of an answer that is not a sale yet.
const accepted = 202

// writesAfterAnswer is about the first write. With several open orders at an instance, a late one may be that of any.
func writesAfterAnswer(m *moment) string {
	op := m.op
	if m.isEnd() || !m.step.WritesStock() || m.step.Wrote() && m.step.Write != nil || op.Outcome != history.Sold ||
		!op.Done.Known() || m.step.Came() <= op.Done || m.hasNeighbour(m.step.Came()) || op.Status == accepted {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " of the stock came " + since(op.Done, m.step.Came()) + " after its answer"
}

// hasNeighbour reports whether another order was open at the order's instance at a moment.
func (m *moment) hasNeighbour(then history.Instant) bool {
	return slices.ContainsFunc(m.Ops, func(other history.Op) bool {
		return other.Order != m.op.Order && other.Instance == m.op.Instance && other.Sent <= then && then <= other.Over()
	})
}

func diesAfterAnswer(m *moment) string {
	op := m.op
	died := m.DiedAt(op.Instance)
	if !m.isEnd() || op.Outcome != history.Sold || op.Status == accepted || !op.Done.Known() || op.Writes() ||
		op.Phase != history.Buy || len(op.Events) == 0 || !died.Known() || op.Done >= died {
		return ""
	}
	return m.name() + " was answered, and its instance killed before the write of the stock"
}

// Waiters.

// staysAsleep is about an order that waited in vain for a released lock, for as long as a fresh order may take: stock
// is left in every cell. Fresh orders find one that sleeps past an expiry, after the holder has died.
func staysAsleep(m *moment) string {
	op := m.op
	waited := op.Done.Known() || op.GaveUp == history.TimedOut
	until := op.Over()
	if !m.isEnd() || !waited || op.Outcome == history.Sold || m.hasUs() || !op.IsWaiting() || op.AwaitsReply(until) {
		return ""
	}
	freed, how, free := m.line.FreeAt(until)
	if freed = max(freed, op.Sent); !free || how != history.Released && how != history.Removed ||
		until-freed < Margin+m.stalled {
		return ""
	}
	return m.name() + " got no unit in the " + since(freed, until) +
		" after the lock was released, although it stayed free"
}

// sleeps is about an order that had tried the lock, and did not poll once a release or the expiry had freed it.
func sleeps(m *moment) string {
	op, over := m.op, m.op.Over()
	freed, _, free := m.line.FreeAt(over)
	freed = max(freed, op.Sent)
	if !m.isEnd() || !free || op.Last.State != history.Waiting && op.Last.State != history.Unsure || op.Last.Took != nil ||
		op.CameAfter(freed) || op.AwaitsReply(over) || over-freed < Margin+m.stalled {
		return ""
	}
	return m.name() + " slept for " + since(freed, over) + " while the lock was free"
}

func sleptOn(m *moment) string {
	const long = history.Instant(time.Second)
	if !m.took() || m.step.Asked == nil {
		return ""
	}
	came := m.step.Came()
	freed, how, free := m.line.FreeAt(came - 1)
	if how == history.NoEnd || !free || freed < m.op.Sent || came-freed < long+m.stalled || m.step.Active > freed {
		return ""
	}
	return m.name() + " slept for " + since(freed, came) + " while the lock was free"
}

// isStuck reports whether a fresh order has not sold.
func (m *moment) isStuck() bool {
	return m.isEnd() && m.op.Phase == history.Probe && m.op.Outcome != history.Sold
}

func unwoken(m *moment) string {
	if m.isStuck() && m.facts.Messages {
		return m.name() + " got no unit"
	}
	if !m.isStuck() {
		return ""
	}
	return sleeps(m)
}

func diesWaiting(m *moment) string {
	died := m.DiedAt(m.op.Instance)
	if !m.isEnd() || !died.Known() || m.op.Done < died || m.op.Last.Took != nil || m.op.Last.Asked == nil {
		return ""
	}
	return m.name() + "'s instance was killed while it waited"
}

func extendsAnothers(m *moment) string {
	other := m.heldBy()
	if other == nil || !m.step.Prolongs() || !m.step.Succeeded() || m.facts.Kind != "string" || // else it may be shared
		other.Order == m.op.Order || m.facts.Name && other.Instance == m.op.Instance {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " extended " + m.OrderName(other.Order) + "'s lock"
}

// heldBy returns the order that held the key at the step, nil if it was free, or it is unknown which did.
func (m *moment) heldBy() *history.Op {
	if m.step == nil || m.step.Lock == nil {
		return nil
	}
	if h := m.step.Lock.HolderAt(m.step.At); h.Known && h.Tenure != nil {
		return &m.Ops[h.Tenure.Order]
	}
	return nil
}

// Locks that stay.

func renewsAfterEnd(m *moment) string {
	const soon = history.Instant(200 * time.Millisecond)
	if m.isEnd() || !m.step.Prolongs() || !m.op.Done.Known() || m.step.Came() <= m.op.Done+soon {
		return ""
	}
	return m.name() + "'s lock was renewed " + since(m.op.Done, m.step.Came()) + " after its answer"
}

func staysWithoutTTL(m *moment) string {
	if !m.isStuck() || m.facts.TTL != 0 || m.facts.InValue != 0 || len(m.facts.Locks) == 0 {
		return ""
	}
	return m.name() + " got no unit"
}

func staysBeforeTTL(m *moment) string {
	if !m.isStuck() || !m.facts.TTLLater {
		return ""
	}
	return m.name() + " got no unit"
}

// stands is about an order that found a lock although the last order to acquire it had been over for longer than a
// fresh order may take. With several holders it is unknown whose lock it is.
func stands(m *moment) string {
	if m.isEnd() || m.step.Lock == nil || m.took() || !m.step.Prolongs() && !m.step.Acquires() {
		return ""
	}
	owner := m.step.Lock.OwnerAt(m.step.At)
	if owner == nil || owner.Order == m.op.Index && !m.step.Prolongs() || !owner.Alone {
		return ""
	}
	other := &m.Ops[owner.Order]
	over := max(min(other.Done, m.DiedAt(other.Instance)), owner.Sent) // an acquire may come late
	if !over.Known() || m.step.At-over <= history.Instant(m.Limit)+m.stalled {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " found " + m.step.Command.Key + " " + since(over, m.step.At) + " after " +
		m.OrderName(other.Order) + "'s order was over"
}

// keepsWhatItTook is about an order that was refused, or whose customer hung up, and that has not released the lock.
func keepsWhatItTook(m *moment) string {
	op := m.op
	refused := op.Outcome == history.Busy || op.GaveUp == history.HungUp && op.Last.Write == nil
	if !m.isEnd() || !refused || op.Last.State != history.Holds || m.hasLostCommands() || op.RenewedAfter(op.Over()) ||
		m.DiedAt(op.Instance).Known() {
		return ""
	}
	return m.name() + " was refused, and kept the lock"
}

// hasLostCommands reports whether a fault may have kept a command of the order's from the server.
func (m *moment) hasLostCommands() bool {
	return slices.ContainsFunc(m.Faults, func(f history.Fault) bool {
		return hits(&f, m.op.Op) && f.Kind != "" && f.Kind != history.FaultHeld
	})
}

// givesBackTwice is about an order that sends what releases a lock once more: a counter admits one order more then.
func givesBackTwice(m *moment) string {
	if m.isEnd() || m.step.State != history.HasFreed || !m.step.Usually(history.EffectReleased) || m.step.Wire.Compared {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " came after its release"
}

// leftBehind is about a lock without a working holder: the reply to its acquire was lost, and its order was refused.
func leftBehind(m *moment) string {
	last := &m.op.Last
	if !m.isEnd() || last.State == history.HasFreed || last.Took == nil || last.Took.Heard().Known() ||
		m.facts.TTL == 0 || last.Took.Endless() || m.op.Outcome == history.Sold || m.op.GaveUp != "" ||
		m.DiedAt(m.op.Instance).Known() {
		return ""
	}
	return "the lock stayed until its TTL although its order was refused: an acquire without a reply is not undone"
}

// findsItsOwn is about an order that retried such an acquire, and waited for its own key to expire.
func findsItsOwn(m *moment) string {
	if !m.took() {
		return ""
	}
	first := m.step.Key.Took
	met := m.step.Key.Tried
	if first == nil || first.Heard().Known() || m.freedBefore() || met == nil || met.Came() <= first.Came() ||
		m.step.At-first.At <= history.Instant(m.facts.TTL)*3/4 {
		return ""
	}
	return "a retried acquire found the key of its first attempt, and waited for that to expire"
}

// Removals of another order's lock are one event, told apart by what the command compared and named.

// removal returns the removal of another order's lock by the step, nil if it is none.
func (m *moment) removal() *history.Removal {
	if !m.frees() {
		return nil
	}
	for i := range m.line.Removals {
		if one := &m.line.Removals[i]; one.Order == m.op.Index && one.At == m.step.At && one.Foreign() &&
			(one.Lock() == nil || one.Lock() == m.step.Lock) {
			return one
		}
	}
	return nil
}

// A theft is such a removal.
type theft struct {
	own, was string   // the values of the remover's last acquire, and of the removed lock
	named    []string // the values that the command names
	compared bool
	remover  *moment
	other    *history.Op
	looked   bool // the remover had read the lock since its acquire
	again    bool // it had released the lock since its acquire
}

// removes returns the row's function for removals of that kind.
func removes(is func(*theft) bool) func(*moment) string {
	return func(m *moment) string {
		one := m.removal()
		if one == nil {
			return ""
		}
		t := &theft{remover: m, other: &m.Ops[one.By], looked: m.step.Key.Looked != nil,
			again: m.freedBefore()}
		if m.step.Wire != nil {
			t.was, t.named, t.compared = m.step.Wire.Was, m.step.Wire.Named, m.step.Wire.Compared
		}
		if took := m.step.Key.Took; took != nil && took.Wire != nil {
			t.own = took.Wire.Is
		}
		if !is(t) {
			return ""
		}
		return m.name() + "'s " + m.step.Cmd + " removed " + m.OrderName(t.other.Order) + "'s lock"
	}
}

// freedBefore reports whether an order had released the key since it acquired it.
func (m *moment) freedBefore() bool {
	freed, took := m.step.Key.Freed, m.step.Key.Took
	return freed != nil && (took == nil || freed.Came() > took.Came())
}

func (t *theft) namesIt() bool { return slices.Contains(t.named, t.was) && t.own != t.was }

func (t *theft) passesComparison() bool { return t.compared && t.own == t.was }

func (t *theft) isOfInstance() bool {
	return t.passesComparison() && t.remover.op.Instance == t.other.Instance && t.remover.facts.Name && t.was != ""
}

func (t *theft) comparesPart() bool { return t.compared }

func (t *theft) isAgain() bool { return t.again }

func (t *theft) isLater() bool { return t.looked }

func (t *theft) isBlind() bool { return true }

// Second holders.

// overwrites reports whether an acquire replaced a value that was there.
func (m *moment) overwrites() bool { return m.took() && m.step.Wire != nil && m.step.Wire.Was != "" }

// takesFrom returns what shows that an acquire replaced another order's lock.
func (m *moment) takesFrom() string {
	other := m.holder()
	if !m.overwrites() || other == nil || other.Order == m.op.Order {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " replaced " + m.OrderName(other.Order) + "'s lock"
}

func renewalReplaces(m *moment) string {
	if m.isEnd() || !m.renews() {
		return ""
	}
	return m.takesFrom()
}

func replacesKnown(m *moment) string {
	if m.isEnd() || m.step.Key.State != history.Waiting && m.step.Key.Tried == nil {
		return ""
	}
	return m.takesFrom()
}

func replacesUnseen(m *moment) string { return m.takesFrom() }

func sellsWithFewKeys(m *moment) string {
	if n := len(m.facts.Locks); !m.sold() || n < 2 || m.step.Keys == 0 || m.step.Keys > n/2 {
		return ""
	}
	return m.name() + " sold with " + strconv.Itoa(m.step.Keys) + " of " + strconv.Itoa(len(m.facts.Locks)) + " keys"
}

func sellsUnderAnothers(m *moment) string {
	if !m.sold() || !m.facts.Name || m.op.TookBefore(m.step.At).Known() || m.step.Asked == nil {
		return ""
	}
	return m.name() + " sold under another order's lock"
}

// loss returns the last tenure of the order by then, if it had ended without a release, else nil.
func (m *moment) loss() *history.Tenure {
	for _, l := range m.line.Locks {
		if h := l.TenureOf(m.op.Index, m.step.At); h != nil && h.Lost() && h.Since <= m.step.At {
			return h
		}
	}
	return nil
}

// isShort reports whether the lease is shorter than a plain sale.
func (r *record) isShort() bool { return r.facts.TTL > 0 && r.facts.TTL < r.facts.Takes }

func sellsAfterExpiry(m *moment) string {
	if !m.sold() || !m.isShort() {
		return ""
	}
	if h := m.loss(); h == nil || h.How != history.Expired || h.Note != "" {
		return ""
	}
	return m.name() + "'s lease expired before its write"
}

func stopsRenewing(m *moment) string {
	if !m.sold() || m.facts.Every == 0 {
		return ""
	}
	h := m.loss()
	if h == nil || h.How != history.Expired || h.Note != "" || m.renewalsFaulted(m.op.Op) {
		return ""
	}
	return m.name() + "'s lease expired before its write"
}

// strayRemoves is about a command outside any order that removes a lock that is held.
func strayRemoves(m *moment) string {
	other := m.holder()
	if !m.frees() || other == nil || !m.step.Wire.Background {
		return ""
	}
	return "a " + m.step.Cmd + " of no order's removed " + m.OrderName(other.Order) + "'s lock"
}

func renewalRemoves(m *moment) string {
	if !m.frees() || !m.renews() || m.step.Key.State != history.Holds || m.removal() != nil {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " removed its own lock"
}

// The stock.

func takesTwice(m *moment) string {
	if !m.isEnd() || len(m.op.Units) < 2 {
		return ""
	}
	return m.name() + " took " + strconv.Itoa(len(m.op.Units)) + " units"
}

func refusesTaken(m *moment) string {
	if !m.isEnd() || m.op.Outcome != history.Busy || m.op.Last.Write == nil {
		return ""
	}
	return m.name() + " was answered " + strconv.Itoa(m.op.Status) + " after its write"
}

// refusesRecorded is about the only refused order, if more sales were recorded than answered.
func refusesRecorded(m *moment) string {
	if !m.isEnd() || m.Count == nil || m.Count.Sales == nil || m.op.Outcome != history.Busy || m.op.Last.Took == nil {
		return ""
	}
	answered := int64(0)
	for i := range m.Ops {
		if o := m.Ops[i].Outcome; o == history.Sold || o == history.Unknown {
			answered++
		}
	}
	if *m.Count.Sales <= answered {
		return ""
	}
	return m.name() + " was answered " + strconv.Itoa(m.op.Status)
}

// sendsUnprotected is about an order that was hit by its fault at a request that its lock does not protect.
func sendsUnprotected(m *moment) string {
	of := m.facts.Requests
	if !m.isEnd() || of == nil || len(m.Faults) == 0 || m.Faults[0].Kind != history.FaultKill ||
		m.Faults[0].Order != m.op.Order {
		return ""
	}
	n := m.RequestAt(m.op.Order, m.Faults[0].At)
	if !slices.Contains(of.Before, n) && !slices.Contains(of.After, n) {
		return ""
	}
	text := "not protected by the lock are requests"
	if len(of.Before) > 0 {
		text += fmt.Sprintf(" %d to %d, before its acquire", of.Before[0], of.Before[len(of.Before)-1])
	}
	if len(of.After) > 0 {
		text += fmt.Sprintf(" %d to %d, after its release", of.After[0], of.After[len(of.After)-1])
	}
	return text
}

// numberIn parses a reply that is a number, or a number as text.
func numberIn(reply string) (int, error) { return strconv.Atoi(strings.Trim(reply, `"`)) }

func sellsUnread(m *moment) string {
	if !m.sellsByRead() || m.step.ReadHeld != nil || m.step.ReadEarly != nil {
		return ""
	}
	return m.name() + " wrote the stock without a read"
}

func sellsByEarlyRead(m *moment) string {
	if !m.sellsByRead() || m.step.ReadHeld != nil || m.step.ReadEarly == nil {
		return ""
	}
	return m.name() + " read the stock before it held the lock"
}

// sellsByRead reports whether a write depends on an earlier read, under a lock.
func (m *moment) sellsByRead() bool {
	return m.sold() && !m.facts.LockFree && len(m.facts.Locks) > 0 && (m.step.Wire == nil || !m.step.Wire.Compared)
}

// sellsOtherRead is about an order that read the stock both before and under its lock, and took the unit of the first
// read.
func sellsOtherRead(m *moment) string {
	if !m.sold() || m.step.ReadEarly == nil || m.step.ReadHeld == nil || len(m.op.Units) == 0 {
		return ""
	}
	early, err := numberIn(m.step.ReadEarly.Reply)
	under, err2 := numberIn(m.step.ReadHeld.Reply)
	if err != nil || err2 != nil || int64(early) != m.op.Units[0] || under == early {
		return ""
	}
	return m.name() + " took the unit that it had read before it held the lock"
}

// newer returns the last order that acquired the lock after this one, before the step; nil if none did.
func (m *moment) newer() (newer *history.Course) {
	last := m.op.TookBefore(m.step.At)
	for _, other := range m.courses {
		if at := other.TookBefore(m.step.At); other.Index != m.op.Index && at.Known() && at > last {
			newer, last = other, at
		}
	}
	return newer
}

// isFenced reports whether a write came after a newer order, and whether that had written by then.
func (m *moment) isFenced() (stale, wrote bool) {
	if !m.sold() || !m.facts.Fence {
		return false, false
	}
	other := m.newer()
	return other != nil, other != nil && other.WroteBefore(m.step.At)
}

func (m *moment) staleWrite() string { return m.name() + "'s write came after a newer order's" }

func writesBackwards(m *moment) string {
	if _, wrote := m.isFenced(); !wrote || m.step.Wire == nil || !m.step.Wire.Compared {
		return ""
	}
	return m.staleWrite()
}

func writesUnchecked(m *moment) string {
	if _, wrote := m.isFenced(); !wrote {
		return ""
	}
	return m.staleWrite()
}

func writesBeforeNewer(m *moment) string {
	if stale, wrote := m.isFenced(); !stale || wrote {
		return ""
	}
	return m.name() + " wrote the stock after a newer order had read it"
}

// commitsAfterRelease is about an order that had a request held after its release, if only the count broke. It does not
// guess which request was the commit.
func commitsAfterRelease(m *moment) string {
	if !m.isEnd() || !m.facts.Elsewhere || len(m.Faults) == 0 || m.Faults[0].Order != m.op.Order || broken(m.Cell) != "S" {
		return ""
	}
	if freed := m.op.Last.Freed; freed == nil || !freed.Succeeded() || freed.At >= m.Faults[0].At {
		return ""
	}
	return m.Faults[0].Text
}

// Answers.

func sellsNothing(m *moment) string {
	op, read := m.op, m.op.Last.ReadHeld
	if !m.isEnd() || !op.Done.Known() || op.Outcome == history.Sold || op.Outcome == history.Unknown ||
		m.isFaulted(op.Op) || read == nil || op.Last.Failed != nil || op.Writes() {
		return ""
	}
	if n, err := numberIn(read.Reply); err != nil || n <= 0 {
		return ""
	}
	return m.name() + " held the lock, found stock and sold nothing"
}

// answersLate is about an order that was answered long after its write, not counting faults, or never.
func answersLate(m *moment) string {
	const long = history.Instant(5 * time.Second)
	if !m.isEnd() || m.op.Last.Write == nil || m.DiedAt(m.op.Instance).Known() {
		return ""
	}
	wrote := m.op.Last.Write.Heard()
	switch {
	case !wrote.Known():
		return ""
	case m.op.GaveUp == history.TimedOut:
		return m.name() + " took its unit, and was never answered"
	}
	gap := m.op.Done - wrote
	for _, f := range m.Faults {
		if from, to := max(f.At, wrote), min(f.End, m.op.Done); from < to {
			gap -= to - from
		}
	}
	if !m.op.Done.Known() || gap < long+m.stalled {
		return ""
	}
	return m.name() + " was answered " + since(0, gap) + " after its write"
}

func acceptsFirst(m *moment) string {
	if !m.sold() || m.op.Status != accepted || !m.op.Done.Known() || m.step.Came() <= m.op.Done {
		return ""
	}
	return m.name() + " was answered 202 before its unit was taken"
}

// isFaulted reports whether a fault hit an order, or its instance while the order was open.
func (r *record) isFaulted(op *history.Op) bool {
	return slices.ContainsFunc(r.Faults, func(f history.Fault) bool { return hits(&f, op) })
}

func hits(f *history.Fault, op *history.Op) bool {
	return f.Order == op.Order || f.Instance == op.Instance && f.At < op.Over() && f.End > op.Sent
}

// renewalsFaulted reports whether a fault kept an order from renewing its lock.
func (r *record) renewalsFaulted(op *history.Op) bool {
	return slices.ContainsFunc(r.Faults, func(f history.Fault) bool {
		if !hits(&f, op) {
			return false
		}
		switch f.Kind {
		case history.FaultStop, history.FaultKill, history.FaultDied, history.FaultCut:
			return true
		case history.FaultHeld, history.FaultLate, history.FaultLost:
			return f.Command == "renewal" || r.facts.Shared
		}
		return false
	})
}
