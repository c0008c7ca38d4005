package cause

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stockapi/loadtest/history"
)

// Sales of a unit that was sold, or that are told otherwise.

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
	return m.name() + " was answered " + m.op.Answer() + " after its write"
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
	return m.name() + " was answered " + m.op.Answer()
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
