// Package cause explains why a shop on trial breaks a verdict: by a defect of a closed list, or as every lock of its
// kind does. It is a function of a cell: the audit's findings, the timeline of the locks, and the facts from plain
// sales.
//
// Read table.go first, which lists the causes with their remedies, and then cause.go. Each other file has one kind of
// evidence: order.go an order's own commands, whatever their outcome; removal.go a lock that another order removed;
// loss.go a unit that was sold twice, or a lock that two orders held; stuck.go fresh orders that do not get through.
// remark.go has what breaks no verdict, and premise.go what must have happened for an ok to mean something.
package cause
