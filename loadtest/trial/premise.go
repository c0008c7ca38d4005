package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A premise says of a cell that was played why its ok would mean nothing, by its record: what had to come about besides
// the fault did not. It returns "" if it did.
type premise func(b *bench, record map[*order][]observation) string

// annas returns Anna's order, nil if there is none.
func (b *bench) annas() *order {
	if i := slices.IndexFunc(b.orders, func(o *order) bool { return o.name == "anna" }); i >= 0 {
		return b.orders[i]
	}
	return nil
}

// soldAt asks that so many instances have sold to a crowd.
func soldAt(instances int) premise {
	return func(b *bench, _ map[*order][]observation) string {
		for at := range instances {
			if !slices.ContainsFunc(b.orders, func(o *order) bool {
				return o.at == at && o.phase == history.Buy && o.outcome == history.Sold
			}) {
				return "of the crowd nobody was sold to at " + b.sites[at].Name
			}
		}
		return ""
	}
}

// overdue asks that the other customer came when Anna had had the lock for a lease, if it ends at all, and had yet to
// write.
func overdue(b *bench, record map[*order][]observation) string {
	taken := tookAt(record[b.annas()])
	switch {
	case taken.IsZero() || b.passport.TTL == 0:
		return bereft(b, record)
	case b.comes(record, taken.Add(b.passport.lease())):
		return ""
	}
	return "nobody came for the lock between the end of Anna's lease and her write" +
		either(b.passport.messages, ": "+asleep, "")
}

// asleep says why a waiter does not come.
const asleep = "a waiter sleeps until a message, which the end of a lease does not send"

// bereft asks that the other customer came when Anna's lock had gone, and she had yet to write.
func bereft(b *bench, record map[*order][]observation) string {
	return either(b.comes(record, time.Time{}), "", "nobody came for the lock before Anna's write")
}

// tookAt returns when an order took the lock first.
func tookAt(commands []observation) time.Time {
	for _, d := range effectsOf(commands) {
		if d.took() {
			return d.Sent
		}
	}
	return time.Time{}
}

// comes reports whether an order of the other instance took the lock or wrote the stock before Anna's write, or asked
// for the lock since then: an attempt before that says nothing of a lock that ended later. If Anna wrote nothing, she
// may have noticed, and what came later counts too.
func (b *bench) comes(record map[*order][]observation, since time.Time) bool {
	var write time.Time
	for _, d := range effectsOf(record[b.annas()]) {
		if d.WritesStock() && write.IsZero() {
			write = d.Sent
		}
	}
	return slices.ContainsFunc(b.berts(record), func(c observation) bool {
		got := c.did(acquired) || writesStock(c)
		asked := b.asks(c) && (c.Answered.IsZero() || c.Answered.After(since))
		return (got || asked) && (write.IsZero() || c.Sent.Before(write))
	})
}

// berts returns the commands of Bert's orders.
func (b *bench) berts(record map[*order][]observation) (all []observation) {
	for _, o := range b.orders {
		if strings.HasPrefix(o.name, "bert") {
			all = append(all, record[o]...)
		}
	}
	return all
}

// asks reports whether a command asks for the lock, with success or without.
func (b *bench) asks(c observation) bool {
	return b.passport.acquires[b.shape(&c.Seen)] || c.did((*history.Command).Acquires)
}

// landed asks that Anna's write arrived late, and that the other customer came before.
func landed(b *bench, record map[*order][]observation) string {
	late := func(c observation) bool { return c.Decision == schedule.ComesLate }
	if !slices.ContainsFunc(record[b.annas()], late) {
		return "Anna's write never arrived"
	}
	return overdue(b, record)
}

// latecomer asks that an acquire that came late took the lock.
func latecomer(b *bench, record map[*order][]observation) string {
	late := func(d effect) bool { return d.Decision == schedule.ComesLate && d.took() }
	return either(slices.ContainsFunc(effectsOf(record[b.annas()]), late), "",
		"the acquire that came late found the lock taken, or never arrived")
}

// overlaps asks that Anna's release came to its wire before Bert took the lock, and to the Redis after that.
func overlaps(b *bench, record map[*order][]observation) string {
	for _, d := range effectsOf(b.berts(record)) {
		if d.took() && spans(record[b.annas()], d.Sent) {
			return ""
		}
	}
	return "Anna's release did not arrive after Bert had taken the lock: her client gave up on it"
}

// spans reports whether one of the commands waited at its wire at that moment.
func spans(commands []observation, then time.Time) bool {
	return slices.ContainsFunc(commands, func(c observation) bool { return c.Came.Before(then) && c.Sent.After(then) })
}

// unheard asks that Bert's subscription was under way when Anna released the lock.
func unheard(b *bench, record map[*order][]observation) string {
	for _, d := range effectsOf(record[b.annas()]) {
		if d.Releases() && spans(b.berts(record), d.Sent) {
			return ""
		}
	}
	return "Bert's subscription did not come after Anna's release"
}

// renewed asks that a renewal of Anna's came when her lock had gone, unless she wrote nothing: she may have noticed.
// Then the other customer came.
func renewed(b *bench, record map[*order][]observation) string {
	anna := record[b.annas()]
	renews := func(c observation) bool {
		return b.passport.renewals[b.shape(&c.Seen)] && b.since(c.Came) > b.faults[0].At
	}
	if slices.ContainsFunc(anna, writesStock) && !slices.ContainsFunc(anna, renews) {
		return "no renewal came after Anna's lock was removed"
	}
	return bereft(b, record)
}

// waited asks that Anna had asked for the lock before her fault was over.
func waited(b *bench, record map[*order][]observation) string {
	asked := func(c observation) bool { return b.asks(c) && b.since(c.Came) < b.faults[0].End }
	return either(slices.ContainsFunc(record[b.annas()], asked), "", "Anna had not asked for the lock yet")
}

// givenUp says which order still waited at its timeout: its outcome is unknown. A customer who hangs up, or whose
// instance is killed, waits no more.
func (b *bench) givenUp() string {
	for _, o := range b.orders {
		if o.phase == history.Buy && o.waited {
			return fmt.Sprintf("%s still waited after %s", b.nameOf(o), b.httpTime())
		}
	}
	return ""
}
