// Package catalog holds the facts by which a run is planned and judged, and the language of expectations. It runs
// nothing: package scenario does, and each of its files has the expectations of one scenario.
//
// Reading order: rung.go (the ladder), scenario.go (the facts of a scenario), expect.go (the language of the tables: an
// expectation is written once for a group of rungs), table_schedules.go (what the explorer should find), select.go and
// spec.go (the cells of a run), assess.go (findings compared with expectations), valid.go (cells that measure the
// machine, not the rung).
package catalog
