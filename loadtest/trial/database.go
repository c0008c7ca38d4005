package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
)

// requests are what a plain sale sends to the shop's database, by number. One that gets no reply, such as the end of a
// connection, commits nothing: it is neither under the lock nor after it.
type requests struct {
	all      int
	answered int    // the last one that gets a reply
	under    []int  // those that are sent under the lock
	replies  []int  // those whose replies come under it
	after    []int  // those that are sent after its release
	why      string // why none can be held
}

// mostHeld bounds how many requests a row of cells holds, one after the other: some shops connect for each order, and
// have five before it begins.
const mostHeld = 12

// aRequest is how long a request goes unanswered that waits for another order's transaction.
const aRequest = 300 * time.Millisecond

// openAtDatabase opens an order at an instance's link to its database, unless that is done, and returns its number.
func (b *bench) openAtDatabase(at int) (number int) {
	if b.Ends[at].Database == nil {
		return 0
	}
	if number, b.opened[at] = b.opened[at], 0; number > 0 {
		return number
	}
	return b.Ends[at].Database.BeginOrder()
}

// follow sends plain orders to both instances until their requests to the database show one pattern, and follows it.
// Their last ones are plain sales, after which both have come to rest.
func (b *bench) follow() (stable bool, err error) {
	b.begin(fault{})
	if err := b.put(onShelf); err != nil {
		return false, err
	}
	var sales [2][]int
	for range rig.MostSales {
		stable = true
		for at, e := range b.Ends {
			o, err := b.plainAt(at)
			if err != nil {
				return false, err
			}
			sales[at] = append(sales[at], o.inDatabase)
			p, known := rig.Learn(e.Database.Since(b.cell.Start), sales[at])
			e.Database.Follow(p)
			stable = stable && known
		}
		if stable {
			return true, nil
		}
	}
	return false, nil
}

// plainAt sends a plain order to an instance, and waits until that has come to rest.
func (b *bench) plainAt(at int) (*order, error) {
	o := b.buy("plain", at, history.Buy, b.Order, 0)
	<-o.Done()
	b.Quiet(b.ctx)
	time.Sleep(50 * time.Millisecond) // a rollback may come after the answer
	b.Ends[at].Database.EndOrder()
	if o.Op.Outcome != history.Sold {
		return o, b.problem(o, nil)
	}
	return o, nil
}

// learnRequests finds out what a plain sale sends to the database, and what of that comes under its lock.
func (b *bench) learnRequests() error {
	of := &b.passport.requests
	if b.Database == "" {
		of.why = "the trial does not reach the shop's database: --db"
		return nil
	}
	b.Say("learning what a sale sends to the database…")
	stable, err := b.follow()
	if err != nil {
		return err
	}
	if !stable {
		of.why = "plain sales show no pattern of requests to the database"
		return nil
	}
	b.begin(fault{})
	o, err := b.plainAt(atA)
	if err != nil {
		return err
	}
	of.learn(b.Ends[atA].Database.Since(o.Sent), o.inDatabase, b.underLock(o))
	return nil
}

// learn learns from what a link has seen of a plain order that held its lock in that time.
func (r *requests) learn(pieces []rig.Piece, order int, held span) {
	answered := map[int]bool{}
	for _, p := range pieces {
		if p.Order == order && p.Number > 0 && p.Reply {
			answered[p.Number], r.answered = true, max(r.answered, p.Number)
		}
	}
	for _, p := range pieces {
		if p.Order != order || p.Number == 0 {
			continue
		}
		switch r.all = max(r.all, p.Number); {
		case p.Reply && held.has(p.Began):
			r.replies = append(r.replies, p.Number)
		case p.Reply, !answered[p.Number]:
		case held.has(p.Began):
			r.under = append(r.under, p.Number)
		case p.Began.After(held.to):
			r.after = append(r.after, p.Number)
		}
	}
}

// underLock returns when an order held its lock. Without a lock it is all of the order.
func (b *bench) underLock(o *order) span {
	held := span{o.Sent, time.Now()}
	for _, d := range effectsOf(b.byOrder()[o]) {
		switch {
		case d.took():
			held.from = d.Delivered
		case d.Releases():
			held.to = d.observation.Came
		}
	}
	return held
}

// sentNothing reports whether an order is known to have sent nothing to the database: no other one was under way at its
// instance.
func (b *bench) sentNothing(o *order) bool {
	d := b.Ends[o.At].Database
	if d == nil || slices.ContainsFunc(b.orders, func(other *order) bool {
		return other != o && other.At == o.At && other.Sent.Before(o.over) && o.Sent.Before(other.over)
	}) {
		return false
	}
	return !slices.ContainsFunc(d.Since(o.Sent), func(p rig.Piece) bool { return p.Order == o.inDatabase && p.Number > 0 })
}

// watchAtWork tells whether the lock of an order is renewed that is held at a request to the database. While the reply
// to its acquire is held, its client does not know yet that there is something to renew.
func (b *bench) watchAtWork() {
	p := b.passport
	if len(p.Locks) == 0 || p.Every > 0 || len(p.requests.under) == 0 || p.Lease() > mostLease {
		return
	}
	b.Say("looking whether the lock is renewed…")
	b.begin(fault{})
	if b.remove() != nil { // an order whose client gave up on its acquire may have left it
		return
	}
	d := b.Ends[atA].Database
	b.opened[atA] = d.BeginOrder()
	t := d.Trap(p.requests.under[0], false)
	anna := b.send("anna", atA)
	select {
	case <-t.Caught():
	case <-anna.Done():
	}
	for begun := time.Now(); !anna.HasEnded() && time.Since(begun) < p.Lease() && !b.isRenewed(anna); {
		time.Sleep(50 * time.Millisecond)
	}
	t.Release()
	<-anna.Done()
	b.Quiet(b.ctx)
}

// requestsOf returns the requests among pieces.
func requestsOf(pieces []rig.Piece) []rig.Piece {
	return slices.DeleteFunc(pieces, func(p rig.Piece) bool { return p.Reply })
}

// String says what of a sale comes to the database.
func (r *requests) String() string {
	if r.why != "" {
		return r.why
	}
	return fmt.Sprintf("a sale sends %d requests to the database, %d of them under the lock and %d after its release",
		r.all, len(r.under), len(r.after))
}

// linesAt returns the line with each of these numbers in its place, the last ones only.
func linesAt(line string, numbers []int) (lines []string) {
	lines = []string{}
	for _, k := range numbers[max(0, len(numbers)-mostHeld):] {
		lines = append(lines, fmt.Sprintf(line, k))
	}
	return lines
}

// atWork returns the move to where an order has begun its work under the lock: the last command before the write, or
// the first request to the database.
func (p *player) atWork(m schedule.Move) schedule.Move {
	if under := p.passport.requests.under; m.Mark == schedule.Read && len(under) > 0 {
		m.Mark, m.Reply = fmt.Sprintf("db%d", under[0]), false
	}
	return m
}

// goToRequest has an order go on until a request of it to the database, or its reply, is held. Bert comes again when he
// is refused while another order is held.
func (p *player) goToRequest(m schedule.Move, c *customer) {
	d, atMost := p.Ends[m.At].Database, p.httpTime()
	if d == nil {
		p.why = p.passport.requests.why
		return
	}
	others := p.othersOpen(m.Who)
	if others {
		atMost = p.patient(m.Who)
	}
	late := time.Now().Add(atMost)
	for n := 1; !p.holdsAtRequest(m, c, n, time.Until(late)) && p.why == ""; n++ {
		if !others || time.Now().After(late) || m.Who == atA || c.hasSold() {
			p.why = fmt.Sprintf("%s did not come to request %d to the database", people[m.Who], m.Request())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// holdsAtRequest has an order go on for so long, the nth of somebody's or the one that is under way, and reports
// whether it is held at a request.
func (p *player) holdsAtRequest(m schedule.Move, c *customer, n int, atMost time.Duration) bool {
	d, isNew := p.Ends[m.At].Database, n > 1 || c.order == nil
	if isNew {
		p.opened[m.At] = d.BeginOrder()
	}
	t := d.Trap(m.Request(), m.Reply)
	if p.letGo(c); isNew {
		c.order = p.bench.send(nth(nameOf(m.Who), n), m.At)
	}
	select {
	case <-t.Caught():
	case <-c.Done():
	case <-time.After(atMost):
	}
	if isClosed(t.Caught()) {
		if p.why = p.misplaced(m, c.order); p.why == "" {
			c.holds = append(c.holds, p.holdAt(m, t))
			return true
		}
	}
	t.Release()
	return false
}

// misplaced says why the request of that number at which an order is held is not that of plain sales, "" if it may be:
// an order that has to open a connection sends more, and its requests have other numbers.
func (p *player) misplaced(m schedule.Move, o *order) string {
	of, number := &p.passport.requests, m.Request()
	came := of.comesTooEarly(number, p.byOrder()[o])
	if came != "" { // a release that nobody waits for may be under way
		p.Quiet(p.ctx)
		came = of.comesTooEarly(number, p.byOrder()[o])
	}
	if came == "" {
		return ""
	}
	return fmt.Sprintf("%s sent other requests to the database than plain sales, as for a new connection: request %d "+
		"came %s", people[m.Who], number, came)
}

// comesTooEarly says before which command on the lock an order that has sent these alone sends its request of that
// number, "" if plain sales do so, too.
func (r *requests) comesTooEarly(number int, commands []observation) string {
	released := slices.ContainsFunc(effectsOf(commands), func(d effect) bool { return d.Releases() })
	switch {
	case slices.Contains(r.under, number) && tookAt(commands).IsZero():
		return "before the lock was acquired"
	case slices.Contains(r.after, number) && !released:
		return "before the lock was released"
	}
	return ""
}

// holdAt returns where a trap at the database has an order wait.
func (p *player) holdAt(m schedule.Move, t *rig.Trap) *hold {
	of := p.passport.requests
	name := fmt.Sprintf("request %d of %d to the database", m.Request(), max(m.Request(), of.all))
	return &hold{trap: &trap{at: m.At, reply: m.Reply}, atDatabase: t, name: name, since: time.Now()}
}

// isUnder reports whether an order is held while it has the lock.
func (h *hold) isUnder() bool { return h.reply || h.atDatabase != nil }

// waitsForDatabase returns a channel that is closed when a request of an instance waits for another transaction, or
// when the context is done.
func (p *player) waitsForDatabase(at int, done <-chan struct{}) <-chan struct{} {
	d, waits := p.Ends[at].Database, make(chan struct{})
	if d == nil {
		return nil
	}
	p.all.Go(func() {
		for !isClosed(done) && p.ctx.Err() == nil {
			if d.Waiting(aRequest) {
				close(waits)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	return waits
}

// each plays the lines of a fault, one after the other, and returns the cell that tells most as the fault's: the first
// with a defect, or else the first that breaks something, that a busy machine decided, so that all are played again, or
// that was asked. With --quick it stops at the first that breaks.
func (t *Trial) each(f fault, play func(fault) (*history.Cell, error)) (*history.Cell, error) {
	var cells []*history.Cell
	for _, line := range f.lines {
		one := f
		one.line, one.lines = line, nil
		c, err := play(one)
		if err != nil {
			return nil, err
		}
		if cells = append(cells, c); t.Quick && (c.Defect != nil || hasBroken(c)) {
			break
		}
	}
	if len(cells) == 0 {
		return t.notAsked(f, t.passport.whyNoMoment(f.name)), nil
	}
	told := slices.MinFunc(cells, func(x, y *history.Cell) int { return cmp.Compare(weight(x), weight(y)) })
	if told.Defect != nil && len(cells) > 1 {
		told.Defect.Shown += "; " + moments(f.lines, cells)
	}
	return told, nil
}

func hasBroken(c *history.Cell) bool { return history.FirstBroken(c.Findings).Verdict != "" }

// weight is smaller for what tells more. A cell in which the database kept Bert waiting is not outweighed by one that
// is ok: it may be the one that matters.
func weight(c *history.Cell) int {
	switch {
	case c.Defect != nil:
		return 0
	case c.NotAsked != nil && c.Count != nil && c.Count.Kept:
		return 4
	case c.NotAsked != nil:
		return 6
	case c.Finding(history.Stock).Result == history.Broken:
		return 1
	case hasBroken(c):
		return 2
	case isVoid(c):
		return 3
	}
	return 5
}

// moments says at which moments of a fault its cells have a defect: tried at 3, 5, 7: a defect at 5, 7.
func moments(lines []string, cells []*history.Cell) string {
	var tried, at []string
	for i, c := range cells {
		mark, _, _ := strings.Cut(lines[i], ".")
		tried = append(tried, strings.TrimLeft(mark, "a<>db"))
		if c.Defect != nil {
			at = append(at, tried[i])
		}
	}
	return fmt.Sprintf("tried at %s: a defect at %s", strings.Join(tried, ", "), strings.Join(at, ", "))
}

// whyNoMoment says why a fault has no moment in a sale.
func (p *Passport) whyNoMoment(fault string) string {
	switch {
	case p.Elsewhere && p.requests.why != "":
		return p.requests.why
	case fault == "after-release":
		return "a sale sends nothing after its release"
	}
	return p.requests.String()
}
