// Package html writes the report: one HTML file that needs nothing but a browser. It is made from a history alone, so
// the same history gives the same bytes. It judges nothing: the verdicts and the expectations are given.
//
// Reading order: page.go, lessons.go (its heading), group.go (the cells of a scenario and their neighbours), matrix.go,
// sign.go (what is worst in a cell: a word, a colour and a mark), section.go (one cell), trust.go, command.go, pack.go
// (the insides of cells, compressed). The layout is in report.gohtml, cell.gohtml and legend.gohtml; report.js unpacks
// the cell that is opened, whose timeline package drawing draws, and report.css has the styles of all else.
package html
