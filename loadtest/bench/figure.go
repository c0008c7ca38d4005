package bench

import (
	"slices"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
)

// A Figure holds the measurement of a rung, or of a limit.
type Figure struct {
	Rung string `json:"rung,omitempty"` // the rung's number, empty for a limit
	Name string `json:"name"`
	// Limit reports that this is no rung but what bounds all of them.
	Limit bool `json:"limit,omitempty"`
	// NotRun says why there is no figure, if so.
	NotRun string `json:"not_run,omitempty"`
	// Window is the time of the measurement. Sold, Busy and Others count the orders that were answered in it.
	Window time.Duration `json:"window"`
	Sold   int           `json:"sold"`
	Busy   int           `json:"busy,omitempty"`
	Others int           `json:"others,omitempty"`
	// Latency is that of the orders that were sent in the window, whatever was answered.
	Latency history.Latency `json:"latency"`
	// Commands is the number of Redis commands for each sale, 0 if it is not known.
	Commands float64 `json:"commands_per_sale,omitempty"`
	// Twice counts the units that were sold more than once.
	Twice int `json:"twice,omitempty"`
}

// count counts what was answered in the window.
func (f *Figure) count(ops []history.Op, window time.Duration) {
	f.Window = window
	for i := range ops {
		if op := &ops[i]; op.Done >= 0 && op.Done <= history.Instant(window) {
			switch op.Outcome {
			case history.Sold:
				f.Sold++
			case history.Busy:
				f.Busy++
			default:
				f.Others++
			}
		}
	}
	f.Twice = (&history.Cell{Ops: ops}).SoldTwice()
	f.Latency = load.LatencyOf(slices.DeleteFunc(slices.Clone(ops), func(op history.Op) bool {
		return op.Sent < 0 || op.Sent > history.Instant(window)
	}))
}

// perSale relates the commands of a whole measurement to its sales.
func (f *Figure) perSale(commands int64, ops []history.Op) {
	sold := 0
	for i := range ops {
		if ops[i].Outcome == history.Sold {
			sold++
		}
	}
	if sold > 0 {
		f.Commands = float64(commands) / float64(sold)
	}
}

// Rate returns how many of n were counted in a second of the window.
func (f *Figure) Rate(n int) float64 {
	if f.Window <= 0 {
		return 0
	}
	return float64(n) / f.Window.Seconds()
}

// Oversold reports whether the rung sold a unit twice although it is expected not to, over two instances.
func (f *Figure) Oversold() bool {
	expected, _ := catalog.Expected("two-instances", f.Rung)
	return f.Twice > 0 && expected.Results[history.Stock] != history.Broken
}
