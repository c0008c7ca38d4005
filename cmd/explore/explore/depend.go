package explore

import (
	"slices"

	"stockapi/loadtest/schedule"
)

// independent reports whether two steps that may be taken in the same state have the same result in either order, so
// that one order is enough. docs/explore.md has the argument.
func independent(a, b choice) bool {
	switch {
	case a.IsFault() && b.IsFault(): // one may use up the bound on faults
		return false
	case a.node != nil && b.ByClient(): // it concerns the commands to that server
		return b.cmd == nil || b.cmd.server != a.node
	case b.node != nil && a.ByClient():
		return independent(b, a)
	case !a.ByClient() || !b.ByClient(): // time concerns all clients
		return false
	case a.Who == b.Who:
		return sameRound(a, b)
	}
	return !conflict(a, b)
}

// conflict reports whether the order of two steps of different clients matters: they touch the same key, and one of
// them writes it; or one begins a lease, and the other works on the stock. A message's channel counts as a key, so that
// a message comes after its publication. A step whose command is not carried out touches nothing.
func conflict(a, b choice) bool {
	if a.cmd == nil || b.cmd == nil || !a.touches() || !b.touches() {
		return false
	}
	if a.cmd.opens && b.cmd.isWork() || b.cmd.opens && a.cmd.isWork() {
		return true
	}
	if a.cmd.server != b.cmd.server || !a.cmd.write && !b.cmd.write {
		return false
	}
	return slices.ContainsFunc(a.cmd.Keys, func(key string) bool { return slices.Contains(b.cmd.Keys, key) })
}

// sameRound reports whether two commands of one client are the same request to different servers, sent at once. Such a
// client waits for all replies, in any order.
func sameRound(a, b choice) bool {
	return a.Kind == schedule.Grant && b.Kind == schedule.Grant && a.Who == b.Who && a.cmd.server != b.cmd.server &&
		a.cmd.since == b.cmd.since && a.cmd.round == b.cmd.round
}

// commuteInPlace reports whether two steps commute without changing the number of switches: both are of one client, or
// one is of none.
func commuteInPlace(a, b choice) bool {
	return (a.Who == b.Who || !a.ByClient() || !b.ByClient()) && independent(a, b)
}

// isWork reports whether a command is for the stock.
func (cmd *command) isWork() bool { return cmd.server.Index == 0 }

// touches reports whether a step affects the keys of its command.
func (c choice) touches() bool { return c.reaches() || c.Kind == schedule.Drop }
