// Package report writes the files of a run: its results, the matrix as text, the report with its timelines, and
// Porcupine's pages beside it. How each of them looks is in the packages below: terminal, html and porcupine.
package report
