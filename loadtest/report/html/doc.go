// Package html makes the report: one HTML file that needs nothing but a browser, made from a history alone, so that
// the same history gives the same bytes. It decides nothing; the verdicts and what was expected come to it.
//
// Reading order: page.go (the whole), matrix.go, section.go (one cell), command.go; then the timeline: span.go
// (times), window.go (which part of a cell is shown), holds.go (who had the lock key), timeline.go (the lanes),
// order.go, faults.go, lock.go, marks.go (what is drawn on them), scale.go and svg.go (how). report.gohtml and report.css say
// how it all looks.
package html
