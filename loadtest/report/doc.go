// Package report writes the files of a run: its results, the matrix as text, the report with its timelines, and
// Porcupine's pages beside it. How the matrix and the report look is in the packages below, terminal and html.
//
// Reading order: files.go, porcupine_pages.go, porcupine.go (what Porcupine draws).
package report
