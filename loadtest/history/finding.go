package history

// A Verdict is a property that a cell should have: one of seven, or one that only the explorer checks.
type Verdict string

// Valid comes before all other verdicts: whether the cell measures the service, and not the client.
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

// The verdicts on a schedule, which only the explorer checks.
const (
	Nested    Verdict = "nested"     // an order may take its own lock a second time
	WakeUp    Verdict = "wake-up"    // a release notifies a waiter
	Undo      Verdict = "undo"       // a lock that a client gave up is removed before its TTL expires
	LostLease Verdict = "lost-lease" // no write begins under an expired lease, and no renewal restores one
)

// Verdicts lists the verdicts on a cell that was run, except Valid.
var Verdicts = []Verdict{Stock, Exclusion, OwnRelease, Liveness, Fence, InOrder, Herd}

// A Result is the result of a verdict.
type Result string

// OK means that no violation was found, not that there is none. Indeterminate means that the history does not decide
// the verdict, such as when an order of unknown outcome may be a violation. NotApplicable means that the verdict does
// not apply to the rung or, with a reason, was not judged.
const (
	OK            Result = "ok"
	Broken        Result = "BROKEN"
	Indeterminate Result = "unknown"
	NotApplicable Result = "–"
	// Invalid is a result of Valid alone: the client or the machine decided the outcome of the cell.
	Invalid Result = "invalid"
)

// A Finding is the result of one verdict, with its evidence.
type Finding struct {
	Verdict Verdict `json:"verdict"`
	Result  Result  `json:"result"`
	// Because is the reason for the result, if it needs one.
	Because  string     `json:"because,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is one violation, with the orders and times to look it up in the history.
type Evidence struct {
	Text      string    `json:"text"`
	Unit      int64     `json:"unit,omitempty"`
	Orders    []string  `json:"orders,omitempty"`
	Instances []string  `json:"instances,omitempty"`
	At        []Instant `json:"at,omitempty"`
}

// FindingOf returns the finding for v, NotApplicable if there is none.
func FindingOf(fs []Finding, v Verdict) Finding {
	for _, f := range fs {
		if f.Verdict == v {
			return f
		}
	}
	return Finding{Verdict: v, Result: NotApplicable}
}

// FirstBroken returns the first broken finding, an empty one if none is broken.
func FirstBroken(fs []Finding) Finding {
	for _, f := range fs {
		if f.Result == Broken {
			return f
		}
	}
	return Finding{}
}

// Worst returns the worst result: invalid, else broken, else indeterminate.
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

// A Severity ranks a cell by its worst finding, for the page and the terminal.
type Severity int

// The severities, the worst first.
const (
	StockBroken Severity = iota
	LockBroken           // the stock is right
	Stuck                // the lock and the stock are right, but a fresh order does not get through
	OutOfTurn
	WokeAll // a release woke all waiters
	NotValid
	Undecided
	Unbroken
	Unasked
)

// severities are those of broken verdicts. One that a forged file invents gets the worst.
var severities = map[Verdict]Severity{
	Stock: StockBroken, Exclusion: LockBroken, OwnRelease: LockBroken, Fence: LockBroken,
	Liveness: Stuck, InOrder: OutOfTurn, Herd: WokeAll,
}

// SeverityOf returns the severity of the worst finding.
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
