// Package html writes the report: one self-contained HTML file. Its only input is a history, so the same history
// results in the same bytes. It does not judge: the verdicts and the expectations are given.
//
// Reading order: page.go, lessons.go (its heading), group.go (the cells of a scenario and their neighbours), matrix.go,
// sign.go (the worst result of a cell as a word, a colour and a mark), section.go (one cell), trust.go, command.go,
// pack.go (the compressed content of cells). The layout is in report.gohtml, cell.gohtml and legend.gohtml; report.js
// unpacks a cell when it is opened, and package drawing draws its timeline.
//
// The page of a trial is trial.go, with trial.gohtml, trial.js and trial.css; its texts are those of terminal.Trial.
package html
