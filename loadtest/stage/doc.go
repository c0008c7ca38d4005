// Package stage runs a workshop on a projector and phones: a class predicts, buys from real instances, sees a fault
// injected into them, votes on its observations, and gets the audit's verdict.
//
// Each round has a shop of its own: a Redis, two instances, and wires between them, which report the commands.
// Everything that happens is an event of one numbered log. The wall draws the log, so a page that is opened late gets
// all events of the round, and an earlier class can be replayed from its file. The orders are a cell of a run like any
// other, which the audit judges.
//
// Reading order: stage.go for the teacher's actions, round.go, shop.go for one round, watch.go and step.go for the
// commands at Redis, class.go for persons and votes, verdict.go for verdicts and the files that are kept, mend.go for
// the fix played after the verdict, drawing.go for the lanes; log.go, stream.go and server.go for the pages, whose
// files are in web, and again.go for the replay of a class.
package stage
