package history

import (
	"runtime"
	"time"
)

// A Run is the record of one loadtest: its cells, its load, and the machine and servers that it used.
type Run struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	// Loadtest is the build of loadtest.
	Loadtest string `json:"loadtest,omitempty"`
	// Interrupted is why the run ended early, "" if it did not; the cells finished by then are kept.
	Interrupted string `json:"interrupted,omitempty"`
	// Selected is the number of cells to run, 0 if the file lacks it.
	Selected int     `json:"selected,omitempty"`
	Machine  Machine `json:"machine"`
	Backend  Backend `json:"backend"`
	Load     Load    `json:"load"`
	Shop     *Shop   `json:"shop,omitempty"` // nil unless the run is a trial of a shop
	Cells    []*Cell `json:"-"`              // each has a line of its own
}

// A Shop is a shop on trial: its flags, its command line, and its lock.
type Shop struct {
	// Flags are those of the trial, without the values of headers: they may be secrets, and files are kept.
	Flags []string `json:"flags"`
	Argv  []string `json:"argv"` // the command line of the shop
	// Passport describes the lock in a few short texts. Closest is the most similar rung, "" if none is.
	Passport []string `json:"passport,omitempty"`
	Closest  string   `json:"closest,omitempty"`
	// Uncounted means that the stock is in no Redis and cannot be counted.
	Uncounted bool `json:"uncounted,omitempty"`
	// Search is how far every order of commands was played; nil if that was not asked for.
	Search *Search `json:"search,omitempty"`
}

// MaskedValue stands for the value of a header in Flags.
const MaskedValue = "…"

// A Machine describes the client's machine.
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
