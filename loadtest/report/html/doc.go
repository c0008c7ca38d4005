// Package html writes the report: one HTML file that needs nothing but a browser. It is made from a history alone, so
// the same history gives the same bytes. It judges nothing: the verdicts and the expectations are given.
//
// Reading order: page.go (the whole page), lessons.go (its top), group.go (the cells of a scenario), matrix.go,
// section.go (one cell), command.go; then the timeline: span.go (times), window.go (which part of a cell is shown),
// holds.go (which order had the lock key), timeline.go (the lanes), order.go, faults.go, lock.go and marks.go (the
// marks on them), scale.go and svg.go. picture.go and picture_lanes.go draw one cell's timeline as a file of its own.
// The layout is in report.gohtml, cell.gohtml and legend.gohtml; report.js unfolds cells. report.css and picture.css
// have the styles of the report and of a picture, palette.css and timeline.css those of both.
package html
