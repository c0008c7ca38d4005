// Package catalog holds the facts that a run is planned and judged by: what a rung is, what happens in a scenario, and
// which result each verdict should have when a rung meets a scenario. It runs nothing: package scenario does.
//
// Reading order: rung.go (the ladder), scenario.go (what a scenario is, and the table of them), expect.go (how
// expectations are written, once for a group of rungs), table_*.go (the scenarios; and table_schedules.go, what the
// explorer should find), select.go (the cells of a run), assess.go (what was found, beside what was expected),
// valid.go (cells that measure the machine, not the rung).
package catalog
