// Package report writes the files of a run: its results, the matrix as text, and the report with its timelines. Their
// layout is in the subpackages terminal, html and, for timelines, drawing.
package report
