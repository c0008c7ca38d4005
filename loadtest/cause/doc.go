// Package cause explains why a shop on trial breaks a verdict: by a defect of a closed list, or as every lock of its
// kind does. It is a function of a cell: the audit's findings, the timeline of the locks, the courses of the orders,
// and the facts from plain sales.
//
// Read table.go first: the causes with their remedies, and the table of the states in which no correct order is. Then
// cause.go, which applies its rows to each step of each order, and picks the first that explains a verdict. moment.go
// has what rows ask of a step; the states are in unlocked.go, waiting.go, staying.go, theft.go, second.go, stock.go and
// answer.go. design.go has what breaks by design, and tested.go what must have happened for an ok to mean something.
package cause
