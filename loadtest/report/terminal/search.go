package terminal

import (
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// Searched returns sentences on how far every order of commands was played; none if that was not asked for.
func (t *Trial) Searched() (all []string) {
	s := t.Shop.Search
	if s == nil {
		return nil
	}
	for i, l := range s.Levels {
		if l.Faults > 0 {
			continue
		}
		text := stockOf(l.Units) + ": " + howFar(l, s)
		if i+1 < len(s.Levels) && s.Levels[i+1].Faults > 0 {
			text += "; with one fault: " + howFar(s.Levels[i+1], s)
		}
		all = append(all, text)
	}
	all = append(all, plural(s.States, "distinct state", "distinct states")+" in "+s.Took.Round(time.Second).String()+
		startsOf(s))
	if s.GaveWay > 0 {
		all = append(all, "in "+plural(s.GaveWay, "schedule", "schedules")+
			" an order that repeated a command had no further turn")
	}
	if s.Unconfirmed > 0 {
		all = append(all, "not confirmed: "+plural(s.Unconfirmed, "schedule", "schedules")+
			" broke something that broke in no replay")
	}
	if s.Unmeasured > 0 {
		all = append(all, "not measured: "+plural(s.Unmeasured, "schedule", "schedules")+", such as: "+s.Why)
	}
	if s.GoesAnotherWay() {
		all = append(all, "it goes another way each time: too many schedules could not be played as before")
	}
	return all
}

// startsOf says how often instances were started anew, and how long one start took, nothing if none was.
func startsOf(s *history.Search) string {
	if s.Starts == 0 {
		return ""
	}
	each := (s.Starting / time.Duration(s.Starts)).Round(100 * time.Millisecond)
	return fmt.Sprintf("; two instances were started %s, %s each time", times(s.Starts), each)
}

func stockOf(units int64) string {
	if units == 1 {
		return "the last unit"
	}
	return fmt.Sprintf("%d units", units)
}

// howFar says which schedules of a level were played.
func howFar(l history.Level, s *history.Search) string {
	var parts []string
	switch {
	case l.Whole < 0:
		parts = append(parts, plural(l.Played, "order", "orders")+" of commands")
	default:
		parts = append(parts, fmt.Sprintf("every order in which the turn changes at most %s: %d", times(l.Whole), l.Within))
	}
	if more := l.Played - l.Within; l.Whole >= 0 && more > 0 {
		parts = append(parts, fmt.Sprintf("%d with more changes", more))
	}
	if l.Faults == 0 {
		sold := "no unit sold twice"
		if l.Oversold {
			sold = "a unit sold twice"
		}
		parts = append(parts, sold)
	}
	if l.Left > 0 {
		left := fmt.Sprintf("at least %d left", l.Left)
		if s.Took >= s.Within {
			left += ", " + s.Within.String() + " were over"
		}
		parts = append(parts, left)
	}
	if l.Diverged > 0 {
		parts = append(parts, fmt.Sprintf("%d went another way than before", l.Diverged))
	}
	return strings.Join(parts, ", ")
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
