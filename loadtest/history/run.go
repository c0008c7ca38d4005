package history

import (
	"runtime"
	"time"
)

// A Run is everything that one loadtest did, and on what.
type Run struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	// Loadtest names the build of loadtest.
	Loadtest string `json:"loadtest,omitempty"`
	// Interrupted says why the run ended early, if so; the cells that were finished by then are kept.
	Interrupted string `json:"interrupted,omitempty"`
	// Selected is the number of cells that were to be run, 0 in a file that does not say it.
	Selected int     `json:"selected,omitempty"`
	Machine  Machine `json:"machine"`
	Backend  Backend `json:"backend"`
	Load     Load    `json:"load"`
	Shop     *Shop   `json:"shop,omitempty"` // nil unless the run is a trial of somebody's own shop
	Cells    []*Cell `json:"-"`              // each has a line of its own
}

// A Shop is one on trial: how it is tried, and what its lock is.
type Shop struct {
	// Flags are those of the trial. They lack the values of headers, which may be secrets: files are kept.
	Flags []string `json:"flags"`
	Argv  []string `json:"argv"` // the command line of the shop
	// Passport is what the lock is, in a few words each, and Closest the rung that it is most like, "" if it is like none.
	Passport []string `json:"passport,omitempty"`
	Closest  string   `json:"closest,omitempty"`
	// Uncounted means that nobody tells what is left of a stock that is in no Redis.
	Uncounted bool `json:"uncounted,omitempty"`
}

// MaskedValue stands for the value of a header in Flags.
const MaskedValue = "…"

// A Machine describes the one that the client ran on.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

// ThisMachine returns the machine that this process runs on.
func ThisMachine() Machine {
	return Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
}

// A Backend describes the servers of the stock and the locks.
type Backend struct {
	// Kind is "redis-server", "embedded", "url" or "targets".
	Kind string `json:"kind"`
	// Text is the kind, the version and the address, for people.
	Text string `json:"text"`
	// Stockapi names the executable of the service, for people.
	Stockapi string `json:"stockapi"`
}

// Load is the load of each cell.
type Load struct {
	Requests    int           `json:"requests"`
	Concurrency int           `json:"concurrency"`
	Stock       int64         `json:"stock"`
	Rate        float64       `json:"rate,omitempty"`
	Wait        time.Duration `json:"wait"`
	TTL         time.Duration `json:"ttl"`
	Work        time.Duration `json:"work"`
	Repeat      int           `json:"repeat"`
}
