// Package catalog holds the facts that a run is planned and judged by, and the language in which expectations are
// written. It runs nothing: package scenario does, whose files say what is expected of each rung in each scenario.
//
// Reading order: rung.go (the ladder), scenario.go (what is known of a scenario), expect.go (the language of the
// tables: an expectation is written once for a group of rungs), table_schedules.go (what the explorer should find),
// select.go and spec.go (the cells of a run), assess.go (what was found, beside what was expected), valid.go (cells
// that measure the machine, not the rung).
package catalog
