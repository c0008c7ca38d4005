package terminal

import (
	"fmt"
	"time"

	"stockapi/loadtest/catalog"
)

// A pace measures how long cells take, and estimates how long the rest will.
type pace struct {
	began, expected time.Time
	done, all       int            // how much work
	work            map[string]int // that of a cell, by scenario
}

// workOf returns how long a cell takes, beside others: faults run side by side.
func workOf(s catalog.Scenario) int {
	if s.Crowd {
		return 5
	}
	return 1
}

// text tells the time that has passed, and about how much is left, unless that is little.
func (p *pace) text() string {
	said := minutes(time.Since(p.began))
	if p.done == 0 {
		return said
	}
	rest := time.Since(p.expected) * time.Duration(p.all-p.done) / time.Duration(p.done)
	if rest = rest.Round(5 * time.Second); rest == 0 {
		return said
	}
	return said + ", about " + minutes(rest) + " left"
}

// minutes renders a duration as minutes and seconds.
func minutes(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
