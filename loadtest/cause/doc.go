// Package cause says why somebody's own shop breaks a verdict: a defect of a closed list, or what any lock of its kind
// does. It is a function of a cell: of the audit's findings, the timeline of the locks, and what plain sales showed.
//
// Read table.go first, which lists the causes with their remedies, and then cause.go. One file looks at one kind of
// evidence: order.go at what an order's own commands show, whatever came of it; removal.go at a lock that another order
// removed; loss.go at a unit that was sold twice, or a lock that two held; stuck.go at fresh orders that do not get
// through. remark.go has what breaks no verdict, and premise.go what has to have happened for an ok to mean something.
package cause
