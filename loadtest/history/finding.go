package history

// A Verdict is a question about a cell: one of seven, or one that only the explorer asks.
type Verdict string

// Valid is the verdict before all others: whether the cell is a measurement of the service, and not of the client.
const Valid Verdict = "valid"

// The verdicts, in the order in which they are reported.
const (
	Stock      Verdict = "stock"
	Exclusion  Verdict = "exclusion"
	OwnRelease Verdict = "own-release"
	Liveness   Verdict = "liveness"
	Fence      Verdict = "fence"
	InOrder    Verdict = "order"
	Herd       Verdict = "herd"
)

// The verdicts that the explorer alone asks, of a schedule.
const (
	Nested    Verdict = "nested"     // an order may take its own lock a second time
	WakeUp    Verdict = "wake-up"    // a release calls a waiter
	Undo      Verdict = "undo"       // what a client has given up is removed before its TTL ends it
	LostLease Verdict = "lost-lease" // no write is begun under a lease that has expired, and no renewal brings it back
)

// Verdicts lists those of a cell that was run, but for Valid.
var Verdicts = []Verdict{Stock, Exclusion, OwnRelease, Liveness, Fence, InOrder, Herd}

// A Result is the answer to one of the questions.
type Result string

// OK means that no violation was found, not that there is none. Indeterminate means that an order of unknown outcome
// may be a violation. NotApplicable means that the question does not apply to the rung.
const (
	OK            Result = "ok"
	Broken        Result = "BROKEN"
	Indeterminate Result = "unknown"
	NotApplicable Result = "–"
	// Invalid is an answer to Valid alone: the client, or the machine, decided the result of the cell.
	Invalid Result = "invalid"
)

// A Finding is the answer to one question, with its evidence.
type Finding struct {
	Verdict Verdict `json:"verdict"`
	Result  Result  `json:"result"`
	// Because says what was found; empty if there is nothing to say.
	Because  string     `json:"because,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is one violation, with all that is needed to look it up in the history.
type Evidence struct {
	Text      string    `json:"text"`
	Unit      int64     `json:"unit,omitempty"`
	Orders    []string  `json:"orders,omitempty"`
	Instances []string  `json:"instances,omitempty"`
	At        []Instant `json:"at,omitempty"`
}

// FindingOf returns the finding for v.
func FindingOf(fs []Finding, v Verdict) Finding {
	for _, f := range fs {
		if f.Verdict == v {
			return f
		}
	}
	return Finding{Verdict: v, Result: NotApplicable}
}

// FirstBroken returns the first finding that is broken, and an empty one if none is.
func FirstBroken(fs []Finding) Finding {
	for _, f := range fs {
		if f.Result == Broken {
			return f
		}
	}
	return Finding{}
}

// Worst returns the worst result: invalid, or else broken, or else indeterminate.
func Worst(fs []Finding) Result {
	rank := map[Result]int{NotApplicable: 0, OK: 1, Indeterminate: 2, Broken: 3, Invalid: 4}
	worst := NotApplicable
	for _, f := range fs {
		if rank[f.Result] > rank[worst] {
			worst = f.Result
		}
	}
	return worst
}

// A Severity ranks a cell by the worst of its findings. The page and the terminal show it, each in its way.
type Severity int

// The severities, the worst first.
const (
	StockBroken Severity = iota
	LockBroken           // the stock is right
	Stuck                // the lock and the stock are right, but somebody does not get through
	OutOfTurn
	WokeAll // a release woke all waiters
	NotValid
	Undecided
	Unbroken
	Unasked
)

// severities are those of the verdicts, where they are broken. One that a forged file invents has the worst.
var severities = map[Verdict]Severity{
	Stock: StockBroken, Exclusion: LockBroken, OwnRelease: LockBroken, Fence: LockBroken,
	Liveness: Stuck, InOrder: OutOfTurn, Herd: WokeAll,
}

// SeverityOf returns what is worst in findings.
func SeverityOf(fs []Finding) Severity {
	switch Worst(fs) {
	case Invalid:
		return NotValid
	case Indeterminate:
		return Undecided
	case OK:
		return Unbroken
	}
	worst := Unasked
	for _, f := range fs {
		if f.Result == Broken {
			worst = min(worst, severities[f.Verdict])
		}
	}
	return worst
}

// Broken reports whether a verdict is broken.
func (s Severity) Broken() bool { return s <= WokeAll }
