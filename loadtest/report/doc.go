// Package report writes the files of a run: its results, the matrix as text, and the report with its timelines. Their
// layout is in the packages below: terminal, html, and drawing, which has the timelines.
package report
