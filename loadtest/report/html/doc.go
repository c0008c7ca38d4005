// Package html writes the report: one HTML file that needs nothing but a browser. It is made from a history alone, so
// the same history gives the same bytes. It judges nothing: the verdicts and the expectations are given.
//
// Reading order:
//   - the page: page.go, lessons.go (its heading), group.go (the cells of a scenario and their neighbours),
//     matrix.go, sign.go (what is worst in a cell: a word, a colour and a mark), section.go (one cell), trust.go,
//     command.go;
//   - what a timeline shows: span.go (times), window.go (which part of a cell), queue.go (orders that wait, a row for
//     each), writes.go (what became of a write). Who held which lock is told by history's Timeline, and nothing of it
//     is derived here;
//   - how it is drawn: timeline.go (the lanes), order.go, faults.go, lock.go and marks.go (what is on them), place.go
//     (words cover no marks), scale.go, svg.go.
//
// picture.go draws one cell's timeline as a file of its own.
// The layout is in report.gohtml, cell.gohtml and legend.gohtml; report.js unfolds cells. report.css and picture.css
// have the styles of the report and of a picture, palette.css and timeline.css those of both.
package html
