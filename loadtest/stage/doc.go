// Package stage is a workshop on a projector and phones: a class predicts, buys from real instances, sees a fault
// injected into them, says what it saw, and gets the audit's verdict.
//
// Each round has a shop of its own: a Redis, two instances, and wires between them, which tell what Redis has seen.
// All that happens is an event of one numbered log. The wall draws what the log says, so whoever comes late gets the
// round's events, and a class of another day is shown again from its file. The orders are a cell of a run like any
// other, which the audit judges.
//
// Reading order: stage.go for what the teacher can do, round.go, shop.go for one round, watch.go and step.go for the
// commands at Redis, class.go for persons and votes, verdict.go for what is judged and kept, drawing.go for what the
// lanes show; log.go, stream.go and server.go for the pages, whose files are in web, and again.go for a class that is
// shown again.
package stage
