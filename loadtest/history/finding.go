package history

// Verdict names one of the seven separate questions that are asked of a cell.
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
	Order      Verdict = "order"
	Herd       Verdict = "herd"
)

// Verdicts lists all of them.
var Verdicts = []Verdict{Stock, Exclusion, OwnRelease, Liveness, Fence, Order, Herd}

// Result is the answer to one of the questions.
type Result string

// OK means that no violation was found, not that there can be none. Indeterminate means that an order whose outcome
// nobody knows may have been one. NotApplicable means that the rung has nothing the question could be asked of.
const (
	OK            Result = "ok"
	Broken        Result = "BROKEN"
	Indeterminate Result = "unknown"
	NotApplicable Result = "–"
	// Invalid is the answer to Valid alone: the client, or the machine, decided what came of the cell.
	Invalid Result = "invalid"
)

// Finding is the answer to one question, with what it rests on.
type Finding struct {
	Verdict Verdict `json:"verdict"`
	Result  Result  `json:"result"`
	// Because says in words what was found; empty if there is nothing to say.
	Because  string     `json:"because,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is one violation with all that is needed to look it up in the history.
type Evidence struct {
	Text      string    `json:"text"`
	Unit      int64     `json:"unit,omitempty"`
	Orders    []string  `json:"orders,omitempty"`
	Instances []string  `json:"instances,omitempty"`
	At        []Instant `json:"at,omitempty"`
}

// FindingOf picks the finding for v from fs.
func FindingOf(fs []Finding, v Verdict) Finding {
	for _, f := range fs {
		if f.Verdict == v {
			return f
		}
	}
	return Finding{Verdict: v, Result: NotApplicable}
}

// Worst returns the worst result of fs: one broken verdict breaks the cell, one unknown clouds it, and what is not valid
// is neither.
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
