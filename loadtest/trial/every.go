package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
	"stockapi/loadtest/trial/learn"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
)

// A Range bounds what [Trial.PlayEvery] plays.
type Range struct {
	Changes int             // of turn, at most
	Kinds   []schedule.Kind // of the one fault; none: no schedule has one
	For     time.Duration   // at most
}

// everyFaults are the faults of a schedule, by the names that select them.
var everyFaults = []struct {
	name  string
	kinds []schedule.Kind
}{
	{"lose-request", []schedule.Kind{schedule.LoseRequest}},
	{"lose-reply", []schedule.Kind{schedule.LoseReply}},
	{"late", []schedule.Kind{schedule.Late}},
	{"drop", []schedule.Kind{schedule.Drop}},
	{"expiry", []schedule.Kind{schedule.Expiry, schedule.Work}},
	{"give-up", []schedule.Kind{schedule.GiveUp}},
	{"crash", []schedule.Kind{schedule.CrashBefore}},
	{"stop", []schedule.Kind{schedule.Hold}},
}

// NoFault selects no fault.
const NoFault = "none"

// KindsOf returns the kinds of the faults of these names, of all if there are no names.
func KindsOf(names []string) (kinds []schedule.Kind, err error) {
	known := []string{NoFault}
	for _, f := range everyFaults {
		known = append(known, f.name)
		if len(names) == 0 || slices.Contains(names, f.name) {
			kinds = append(kinds, f.kinds...)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no fault %q: the faults of --every are %s", name, strings.Join(known, ", "))
		}
	}
	return kinds, nil
}

// A hunt is a search of every order of commands, in progress. Benches share what is left to be played.
type hunt struct {
	*Trial
	Range
	began time.Time
	tell  func(string)

	mu       sync.Mutex
	searches [2]*search.Search // of two units, and of the last one
	ends     map[string]bool   // the ends of which liveness was asked
	states   map[string]bool
	found    []*find
	oversold [2][2]bool // by search, by number of faults
	line     string     // of a whole schedule without a fault
	played   int
	unfit    int // benches that were fit for no further schedule after one with a unit for each order, and no fault
	told     time.Time
	err      error
	report   history.Search
}

// A find is a defect, or a verdict broken by design, with the shortest schedule that shows it.
type find struct {
	key       string // see keyOf
	shortest  sight
	times     int  // it was seen so often
	confirmed bool // it was seen without a lease that the server has ended early
	tried     int  // it was played again so often, to confirm it
}

// A sight is a schedule that breaks something.
type sight struct {
	search.Prefix        // up to the evidence
	evidence      string // the line of that
	whole         string // the line of all of it
	units         int64
	broken        bool // a verdict: what breaks only the rules of a lock shows less
}

// isBetter reports whether a schedule shows more than another one, or as much and is shorter up to its evidence, or the
// same with more units.
func (s sight) isBetter(than sight) bool {
	if s.broken != than.broken {
		return s.broken
	}
	return s.IsShorter(than.Prefix) || s.units > than.units && !than.IsShorter(s.Prefix)
}

// sawAgain records that the schedule breaks it without a lease that the server has ended early.
func (f *find) sawAgain(s sight) {
	if !f.confirmed || s.isBetter(f.shortest) {
		f.confirmed, f.shortest = true, s
	}
}

// PlayEvery plays every order of the commands of two orders, one at each instance: for two units, and for the last one;
// first without a fault, then with one; those with few changes of turn first. It returns how far it came and, as cells,
// the first schedule that breaks each thing, played once more. If none does, it is one that has no fault.
func (t *Trial) PlayEvery(ctx context.Context, tell func(string)) (*history.Search, []*history.Cell, error) {
	h := &hunt{Trial: t, Range: *t.Every, began: time.Now(), told: time.Now(), ends: map[string]bool{},
		states: map[string]bool{}, tell: tell}
	for i := range h.searches {
		h.searches[i] = search.New(search.Policy{FaultsFirst: true, Most: h.isWithin})
	}
	var all sync.WaitGroup
	for range max(1, t.AtOnce) {
		all.Go(func() {
			if err := h.work(ctx); err != nil {
				h.mu.Lock()
				h.err = cmp.Or(h.err, err)
				h.mu.Unlock()
			}
		})
	}
	all.Wait()
	h.conclude()
	if err := cmp.Or(context.Cause(ctx), h.err); err != nil {
		return &h.report, nil, err
	}
	cells, err := h.replay(ctx)
	return &h.report, cells, err
}

// isWithin reports whether a level is within the range.
func (h *hunt) isWithin(l search.Level) bool {
	return l.Changes <= h.Changes && l.Faults <= h.mostFaults()
}

func (h *hunt) mostFaults() int { return min(1, len(h.Kinds)) }

// unitsOf returns the stock of the schedules of a search.
func unitsOf(of int) int64 { return int64(2 - of) }

// A worker plays schedules on one bench after the other.
type worker struct {
	*hunt
	bench  *record.Bench // nil: none yet
	played int
	doubt  bool // whether the bench is fit for another schedule
	plain  bool // its last schedule had a unit for each order, and no fault
}

// work plays schedules until none is left, or the time is over.
func (h *hunt) work(ctx context.Context) error {
	w := &worker{hunt: h}
	defer func() {
		if w.isFit() {
			h.giveBack(w.bench)
		}
	}()
	for {
		one, of := h.next(ctx)
		if one == nil {
			return nil
		}
		if err := w.plays(ctx, one, of); err != nil {
			return err
		}
	}
}

// plays plays a schedule, again while it does not count, and what it breaks once more if that is in doubt.
func (w *worker) plays(ctx context.Context, one *search.Schedule, of int) error {
	for tries := 1; ; tries++ {
		in, end, err := w.playIn(ctx, unitsOf(of), true, one.Choose)
		if err != nil {
			return err
		}
		again := w.took(one, of, in, end, tries == mostTries)
		if again != nil {
			one = again
			continue
		}
		if f := w.doubtful(in); f != nil {
			return w.confirm(ctx, f, in.units, one.Steps())
		}
		return nil
	}
}

// playIn plays one schedule in a world, which it returns. The server may end a lease early there.
func (w *worker) playIn(
	ctx context.Context, units int64, atOnce bool, choose func([]search.Option) int,
) (in *world, end search.End, err error) {
	if w.played++; !w.isFit() {
		if err = w.begins(ctx); err != nil {
			return nil, end, err
		}
	}
	in = &world{trial: w.Trial, bench: w.bench, units: units, kinds: w.Kinds, atOnce: atOnce, states: map[string]bool{},
		asks: w.asksOf(!atOnce)}
	end, err = in.Play(choose)
	w.plain = in.faults == 0 && units > 1
	w.doubt = in.faults > 0 || in.why != "" || !end.Whole || w.played%20 == 0
	return in, end, err
}

// begins takes a bench, and records how long a new one takes.
func (w *worker) begins(ctx context.Context) (err error) {
	if w.bench = w.takeIdle(); w.bench != nil {
		return nil
	}
	begun := time.Now()
	w.bench, err = learn.Warm(ctx, w.shop, w.passport)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Starts++
	w.report.Starting += time.Since(begun)
	return err
}

// isFit reports whether the bench is fit for another schedule. It closes one that is not.
func (w *worker) isFit() bool {
	b := w.bench
	if b == nil {
		return false
	}
	down := b.Pair.IsDown(shop.AtA) || b.Pair.IsDown(shop.AtB)
	if !down && b.Remove() == nil && (!w.doubt || b.IsAsNew()) {
		return true
	}
	if w.plain {
		w.mu.Lock()
		w.unfit++
		w.mu.Unlock()
	}
	b.Pair.Close()
	w.bench = nil
	return false
}

// confirm plays a schedule again, and waits for its leases.
func (w *worker) confirm(ctx context.Context, f *find, units int64, steps []search.Option) error {
	i := 0
	in, _, err := w.playIn(ctx, units, false, func(options []search.Option) int {
		if i == len(steps) {
			return -1
		}
		i++
		return slices.IndexFunc(options, func(o search.Option) bool { return o.ID == steps[i-1].ID })
	})
	if err != nil || keyOf(in.cell) != f.key || in.why != "" {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f.sawAgain(in.shown())
	return nil
}

// next returns the next schedule, and to which search it belongs. It is nil if none is left, or the time is over.
func (h *hunt) next(ctx context.Context) (*search.Schedule, int) {
	for ; ; time.Sleep(time.Millisecond) { // another bench may leave more
		h.mu.Lock()
		best, empty, least := -1, true, search.Level{}
		for of, s := range h.searches {
			empty = empty && s.IsEmpty()
			if l, is := s.Peek(); is && (best < 0 || l.Less(least)) {
				best, least = of, l
			}
		}
		over := empty || ctx.Err() != nil || h.err != nil || time.Since(h.began) > h.For
		var one *search.Schedule
		if !over && best >= 0 {
			one = h.searches[best].Next()
		}
		h.mu.Unlock()
		if over || one != nil {
			return one, best
		}
	}
}

// mostTries bounds the repetitions of a schedule that does not count, and of one that is to confirm another.
const mostTries = 3

// took takes back a schedule. It returns the one that is to be played in its place, nil if it counts, or is the last.
func (h *hunt) took(
	one *search.Schedule, of int, w *world, end search.End, last bool,
) (again *search.Schedule) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.searches[of]
	switch {
	case w.why != "" && !last:
		return s.Again(one)
	case w.why != "":
		s.GiveUp(one)
		h.report.Unmeasured, h.report.Why = h.report.Unmeasured+1, w.why
	default:
		h.err = cmp.Or(h.err, s.Done(one, end), h.isLimited(w))
		if end.Whole && w.faults == 0 && of == 0 {
			h.line = cmp.Or(h.line, lineOf(w.words))
		}
		if w.gaveWay {
			h.report.GaveWay++
		}
		if _, sold := end.Broken[history.Stock]; sold {
			h.oversold[of][w.faults] = true
		}
	}
	for state := range w.states {
		h.states[state] = true
	}
	if h.played++; time.Since(h.told) > 5*time.Second {
		h.told = time.Now()
		h.tell(fmt.Sprintf("%d schedules were played, at least %d are left", h.played,
			h.searches[0].Left()+h.searches[1].Left()))
	}
	return nil
}

// isLimited returns why a search ends early: the shop no longer sells as it did.
func (h *hunt) isLimited(w *world) error {
	for _, o := range w.bench.Orders {
		if o.Op.Status == http.StatusTooManyRequests {
			return errors.New("--every: the shop answered 429: it limits how many orders it takes; lift the limit for the trial")
		}
	}
	if h.unfit > 2*mostTries && h.unfit > h.played/2 {
		return errors.New("--every: an order that sold no longer sells after a few: does the shop sell only once to a " +
			"customer? Then name another one in each order, as by {i}")
	}
	return nil
}

// asksOf returns whether liveness is asked of an end: of each that is to be confirmed, and else of the first like it.
func (h *hunt) asksOf(confirms bool) func(end string) bool {
	return func(end string) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		asked := h.ends[end]
		h.ends[end] = true
		return confirms || !asked
	}
}

// doubtful records what a schedule breaks. It returns that if it is yet to be confirmed: a lease ended before its time.
func (h *hunt) doubtful(w *world) *find {
	key := keyOf(w.cell)
	if key == "" || w.why != "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.found, func(f *find) bool { return f.key == key })
	if i < 0 {
		i, h.found = len(h.found), append(h.found, &find{key: key})
	}
	f, s := h.found[i], w.shown()
	f.times++
	switch {
	case !w.early:
		f.sawAgain(s)
		return nil
	case f.tried == mostTries, f.confirmed && !s.isBetter(f.shortest):
		return nil
	}
	f.tried++
	return f
}

// keyOf identifies what a cell breaks, "" if nothing: its defect, or a verdict by design.
func keyOf(c *history.Cell) string {
	if c.Defect != nil {
		return c.Defect.Cause
	}
	if broken := history.FirstBroken(c.Findings).Verdict; broken != "" {
		return fmt.Sprintf("%s %s", broken, c.Design)
	}
	return ""
}

// replay plays the schedules that were found as cells, cut to their evidence if that shows the same.
func (h *hunt) replay(ctx context.Context) (cells []*history.Cell, err error) {
	for _, f := range h.found {
		if s := f.shortest; f.confirmed {
			for _, line := range []string{s.evidence, s.whole} {
				c, err := h.once(ctx, fault{name: nameOfSchedule(line, s.units), line: line, units: s.units})
				if err != nil {
					return nil, err
				}
				if keyOf(c) == f.key {
					cells = append(cells, c)
					f.times = 0
					break
				}
			}
		}
		h.report.Unconfirmed += f.times
	}
	if len(cells) > 0 || h.line == "" {
		return cells, nil
	}
	c, err := h.once(ctx, fault{name: h.line, line: h.line, units: unitsOf(0)})
	return []*history.Cell{c}, err
}

// nameOfSchedule names a schedule.
func nameOfSchedule(line string, units int64) string {
	if units == 1 {
		return line + history.LastUnit
	}
	return line
}

// conclude records how far the search came.
func (h *hunt) conclude() {
	r := &h.report
	r.Took, r.States, r.Within = time.Since(h.began), len(h.states), h.For
	for of, s := range h.searches {
		for faults := range h.mostFaults() + 1 {
			l := history.Level{Units: unitsOf(of), Faults: faults, Oversold: h.oversold[of][faults], Whole: -1,
				Diverged: s.DivergedWith(faults),
				Played:   s.Played(search.Level{Faults: faults, Changes: math.MaxInt})}
			for changes := range h.Changes + 1 {
				if most := (search.Level{Faults: faults, Changes: changes}); s.IsWhole(most) {
					l.Whole, l.Within = changes, s.Played(most)
				}
			}
			l.Left = s.LeftWith(faults)
			r.Levels = append(r.Levels, l)
		}
	}
}
