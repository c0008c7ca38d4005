package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// replyOf is a trap for the reply to a step's command at an instance, if that had the step's effect. Of several such
// commands of an order it is the one that has the same place after the acquire as in a plain sale. The order acquires
// the lock from now on: another one at the instance may have it, or have lost it without a release.
func (b *bench) replyOf(at int, s *step) *trap {
	early, ahead, now := b.passport.comesEarly(s), b.passport.aheadOf(s), b.since(time.Now())
	taken := history.Never // when the lock was taken last
	came := 0              // since then
	return &trap{at: at, reply: true,
		is: func(cmd *wire.Command) bool {
			if b.shape(&cmd.Seen) != s.shape {
				return false
			}
			if since := b.timeline().HeldSince(b.sites[at].Name); since != taken {
				taken, came = since, 0
			}
			if early && (!taken.Known() || taken <= now) {
				return false
			}
			came++
			return came > ahead
		},
		did: func(effects []history.Command) bool {
			return len(s.effects) == 0 || anyOf(effects, func(c *history.Command) bool {
				return anyOf(s.effects, func(e *history.Command) bool { return c.Effect == e.Effect })
			})
		}}
}

// atWrite is a trap for Anna's write of the stock.
func atWrite(does schedule.Decision) func(*bench) *trap {
	return func(b *bench) *trap {
		return &trap{at: atA, does: does, is: func(cmd *wire.Command) bool { return b.passport.writes[b.shape(&cmd.Seen)] }}
	}
}

// atAcquire is a trap for Anna's first try to get the lock.
func atAcquire(b *bench) *trap {
	return &trap{at: atA, does: schedule.ComesLate,
		is: func(cmd *wire.Command) bool { return b.passport.acquires[b.shape(&cmd.Seen)] }}
}

// onceAcquired is a trap for the reply that tells Anna that she has the lock.
func onceAcquired(b *bench) *trap {
	t := atAcquire(b)
	t.reply, t.did = true, func(effects []history.Command) bool { return anyOf(effects, acquired) }
	return t
}

// onceWritten is a trap for the reply that tells Anna that she has written the stock.
func onceWritten(b *bench) *trap {
	t := atWrite(schedule.Pass)(b)
	t.reply, t.did = true, func(effects []history.Command) bool { // a script may be that of the read, too
		return anyOf(effects, func(c *history.Command) bool { return c.WritesStock() && !c.Refused() })
	}
	return t
}

// atStep is a trap for command number k of Anna's sale.
func atStep(k int, does schedule.Decision, reply bool) func(*bench) *trap {
	return func(b *bench) *trap {
		return &trap{at: atA, does: does, reply: reply, is: b.isStep(b.passport.steps, k)}
	}
}

// atStepRefused is a trap for command number k of Anna's sale, which the Redis refuses with an error.
func atStepRefused(k int) func(*bench) *trap {
	return func(b *bench) *trap {
		t := atStep(k, schedule.Refuse, false)(b)
		t.answer = b.passport.refusal(&b.passport.steps[k])
		return t
	}
}

// refusal returns the error of a Redis that does not carry out the command of a step: the acquire finds a replica, as
// after a failover, the write of the stock a full memory, and any other command, which a full memory does not keep from
// reading or deleting, a server that has just started.
func (p *Passport) refusal(s *step) string {
	switch {
	case p.acquires[s.shape]:
		return "READONLY You can't write against a read only replica."
	case p.writes[s.shape]:
		return "OOM command not allowed when used memory > 'maxmemory'."
	}
	return "LOADING Redis is loading the dataset in memory"
}

// codeOf is the first word of an error, by which clients know it.
func codeOf(err string) string {
	code, _, _ := strings.Cut(err, " ")
	return code
}

// atRelease is a trap for that command of Anna's release.
func atRelease(number int) func(*bench) *trap {
	return func(b *bench) *trap {
		releases, wrote := b.isStep(b.passport.afterWrite(), number), false
		return &trap{at: atA, does: schedule.Pass, is: func(cmd *wire.Command) bool {
			if wrote {
				return releases(cmd)
			}
			wrote = b.passport.writes[b.shape(&cmd.Seen)]
			return false
		}}
	}
}

// anna sends an order to a, and waits until it is in the trap. It says why it got into none.
func (b *bench) anna(t *trap) (*order, string) {
	b.set(t)
	o := b.send("anna", atA)
	return o, b.caught(t, o)
}

// bert lets Bert buy at b until he has sold, again when he is told no, for so long.
func (b *bench) bert(atMost time.Duration) { b.bertUntil(atB, atMost, nil) }

// bertUntil does so at an instance, until something else has happened, too, and returns his last order.
func (b *bench) bertUntil(at int, atMost time.Duration, happened <-chan struct{}) (o *order) {
	late := time.After(atMost)
	for n := 1; ; n++ {
		o = b.send(nth("bert", n), at)
		select {
		case <-o.done:
		case <-happened:
			return o
		case <-late:
			return o
		}
		if o.outcome == history.Sold {
			return o
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-late:
			return o
		}
	}
}

// nth names the order that somebody sends for the nth time.
func nth(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}

func (b *bench) send(name string, at int) *order { return b.buy(name, at, history.Buy, b.Order, 0) }

func (b *bench) caught(t *trap, o *order) string {
	select {
	case <-t.sprung:
		return ""
	case <-o.done:
	}
	select {
	case <-t.sprung: // what an order sends after its answer is its own
		return ""
	case <-time.After(aMoment):
		return "the order ended without the command at which the fault was to happen"
	}
}

// wait waits until an order has ended, or for so long.
func wait(o *order, atMost time.Duration) {
	select {
	case <-o.done:
	case <-time.After(atMost):
	}
}

// note records a fault of an order since then.
func (b *bench) note(o *order, since time.Time, kind history.FaultKind, format string, args ...any) {
	b.faults = append(b.faults, history.Fault{Order: b.Product + "-" + o.name, Instance: b.sites[o.at].Name,
		Text: fmt.Sprintf(format, args...), Kind: kind, At: b.since(since), End: b.since(time.Now())})
}

const (
	crowdOrders  = 20 // at each instance
	crowdAtOnce  = 8  // of them
	crowdShelf   = 15 // units for each instance
	crowdPatient = 10 * time.Second
)

// crowdAt lets crowds buy at so many instances, at full speed: nobody looks, unless what an order leaves of the stock
// has to be read back.
func crowdAt(instances int) func(*bench) string {
	return func(b *bench) string {
		b.blind.Store(!b.passport.readBack)
		defer b.blind.Store(false)
		b.gate.OpenAll()
		var all sync.WaitGroup
		var mu sync.Mutex
		until := time.Now().Add(crowdPatient)
		for at := range instances {
			for w := range crowdAtOnce {
				all.Go(func() {
					for n := w; n < crowdOrders && time.Now().Before(until); n += crowdAtOnce {
						mu.Lock()
						o := b.send(fmt.Sprintf("%s-%d", b.sites[at].Name, n+1), at)
						mu.Unlock()
						<-o.done
					}
				})
			}
		}
		all.Wait()
		b.quiet()
		b.gate.Close()
		return ""
	}
}

// A deal is what happens when Anna is in a trap. It returns why it does not.
type deal func(b *bench, anna *order, in *trap) string

// caughtAt has Anna come into a trap, and goes on there. What then still holds her the bench lets go.
func caughtAt(at func(*bench) *trap, then deal) func(*bench) string {
	return func(b *bench) string {
		t := at(b)
		anna, why := b.anna(t)
		if why != "" {
			return why
		}
		return then(b, anna, t)
	}
}

// whileHeld holds Anna before her write, and does something meanwhile.
func whileHeld(do deal) func(*bench) string {
	return caughtAt(func(b *bench) *trap { return b.replyOf(atA, b.passport.beforeWrite()) }, do)
}

// slowWork holds the reply of the command before Anna's write, or sends an order that is slow by itself.
func slowWork(b *bench) string {
	p := b.passport
	if b.Slow == nil {
		return whileHeld(func(b *bench, anna *order, _ *trap) string {
			since := time.Now()
			b.bert(p.hold())
			b.note(anna, since, "", "working %s%s", round(time.Since(since)),
				either(len(p.Locks) > 0, " under a lease of "+p.TTL.String(), ""))
			return ""
		})(b)
	}
	work := p.Lease() * 5 / 2
	anna := b.buy("anna", atA, history.Buy, *b.Slow, work)
	time.Sleep(p.Lease() / 4)
	bert := b.send("bert", atB)
	<-anna.done
	b.note(anna, anna.sent, "", "working %s under a lease of %s", work, p.Lease())
	<-bert.done
	return ""
}

// pause stops a while Anna's reply is held. It is there when a goes on.
func pause(b *bench, anna *order, held *trap) string {
	since := time.Now()
	if err := b.sites[atA].shop.Stop(); err != nil {
		return err.Error()
	}
	stopped := time.Now()
	b.bert(b.passport.Lease() + margin)
	if slices.ContainsFunc(b.sentBy(atA), func(c observation) bool {
		return !c.cmd.Message && c.cmd.Came.After(stopped.Add(margin/4)) // what it had sent before may come later
	}) {
		return "the shop went on while it was stopped; start it in the foreground"
	}
	b.note(anna, since, history.FaultStop, "stopped %s before its write", round(time.Since(since)))
	b.unset(held)
	time.Sleep(20 * time.Millisecond) // until the reply is there
	if err := b.sites[atA].shop.Continue(); err != nil {
		return err.Error()
	}
	return ""
}

func late(b *bench, anna *order, write *trap) string {
	since := time.Now()
	b.bert(max(b.passport.Lease(), b.passport.Patience) + margin)
	b.note(anna, since, "", "its write under way for %s", round(time.Since(since)))
	b.land(write)
	b.sites[atA].wire.Break() // its caller waits no longer
	return ""
}

// land lets a late command arrive.
func (b *bench) land(t *trap) {
	b.unset(t)
	select {
	case <-t.cmd.Done():
	case <-time.After(margin):
	}
}

func crash(b *bench, anna *order, _ *trap) string {
	b.note(anna, time.Now(), history.FaultKill, "killed")
	if err := b.sites[atA].shop.Kill(); err != nil {
		return err.Error()
	}
	<-anna.done
	return ""
}

// lateRelease holds a command of Anna's release until Bert has the lock at that instance. A third order comes to the
// other one while he has it. At Anna's own, what has one value for all its orders may take Bert's lock for hers.
func lateRelease(at int) deal {
	return func(b *bench, anna *order, release *trap) string {
		p, since := b.passport, time.Now()
		works := b.set(b.replyOf(at, p.beforeWrite()))
		if aLongReply(p) != "" { // the client would give the release up before the lease ends
			if err := b.remove(); err != nil {
				return err.Error()
			}
		}
		bert := b.bertUntil(at, p.Lease()+margin, works.sprung)
		if !isClosed(works.sprung) {
			return "Bert did not get the lock while Anna's release was held: " + p.whyKept(at)
		}
		b.note(anna, since, "", "its release held for %s", round(time.Since(since)))
		b.releaseUnder(bert, anna, release)
		b.unset(works)
		<-bert.done
		return ""
	}
}

// releaseUnder lets Anna release the lock, and a third order come, while Bert is held under it. What her instance sends
// meanwhile is not his.
func (b *bench) releaseUnder(bert, anna *order, held *trap) {
	third := atA
	if bert.at == atA {
		third = atB
	}
	blocked := time.Now()
	b.unset(held)
	moment := min(b.passport.Lease()/4, 700*time.Millisecond) // Bert's own lease must not end
	if wait(anna, moment); isClosed(anna.done) {
		wait(b.send("clara", third), moment)
	}
	bert.blocked = span{blocked, time.Now()}
}

// sameInstance holds the reply to Anna's write until Bert has the lock at her own instance, and lets her release it
// then. A third order comes while he has it. If her release has his value, it takes his lock.
func sameInstance(b *bench, anna *order, written *trap) string {
	p, since := b.passport, time.Now()
	works := b.set(b.replyOf(atA, p.beforeWrite()))
	bert := b.bertUntil(atA, p.Lease()+margin, works.sprung)
	if !isClosed(works.sprung) {
		return "Bert did not get the lock before Anna released it: " + p.whyKept(atA)
	}
	b.note(anna, since, "", "the reply to its write held for %s", round(time.Since(since)))
	b.releaseUnder(bert, anna, written)
	b.unset(works)
	<-bert.done
	return ""
}

// whyKept says why Bert does not get a lock at an instance although its holder, at a, is over its lease.
func (p *Passport) whyKept(at int) string {
	switch {
	case p.Every > 0:
		return "it is renewed until then"
	case p.Messages:
		return cause.Asleep
	case at == atA:
		return "orders of one instance may wait for each other, or their commands on one connection"
	}
	return "it stayed for longer than its lease"
}

// isStep matches command number k of these of a sale.
func (b *bench) isStep(steps []step, k int) func(*wire.Command) bool {
	nth := 0
	for _, s := range steps[:k] {
		if s.shape == steps[k].shape {
			nth++
		}
	}
	return func(cmd *wire.Command) bool {
		if b.shape(&cmd.Seen) != steps[k].shape {
			return false
		}
		nth--
		return nth < 0
	}
}

// lost lets Bert come when a command of Anna's is lost, or its reply.
func lost(text string) deal {
	return func(b *bench, anna *order, _ *trap) string {
		b.note(anna, time.Now(), "", "%s", text)
		b.bertAfter(anna)
		return ""
	}
}

// bertAfter has Bert buy at b once Anna has ended, in the time in which a fresh order has to get through.
func (b *bench) bertAfter(anna *order) {
	<-anna.done
	b.sellAt(atB, "bert", history.Buy, endOf(anna, b.byOrder()[anna]))
}

// aMoment is longer than some wait for a reply before they let go of what they asked for, and shorter than clients do.
const aMoment = 400 * time.Millisecond

// lateReply holds a reply for a moment. Nothing is cut.
func lateReply(b *bench, anna *order, held *trap) string {
	since := time.Now()
	wait(anna, aMoment)
	b.unset(held)
	b.note(anna, since, "", "a reply late by %s", round(time.Since(since)))
	b.bertAfter(anna)
	return ""
}

// contendedAcquire has Anna ask for the lock while Bert has it, and loses her acquire or its reply, or delays that. If
// she then sells without the lock, she does so before Bert goes on.
func contendedAcquire(text string, does schedule.Decision, reply bool) func(*bench) string {
	return func(b *bench) string {
		p := b.passport
		works := b.set(b.replyOf(atB, p.beforeWrite()))
		bert := b.send("bert", atB)
		if why := b.caught(works, bert); why != "" {
			return why
		}
		t := b.set(&trap{at: atA, does: does, reply: reply,
			is: func(cmd *wire.Command) bool { return p.acquires[b.shape(&cmd.Seen)] }})
		moment := min(p.Lease()/4, p.hold()/3, aMoment) // Bert's own lease must not end, nor his client give up
		since, anna := time.Now(), b.send("anna", atA)
		select {
		case <-t.sprung:
		case <-anna.done:
			return "Anna did not ask for the lock while Bert had it"
		case <-time.After(p.Lease() / 4):
			return "Anna's acquire was not answered while Bert had the lock"
		}
		if reply {
			wait(anna, moment)
			b.unset(t)
		}
		b.note(anna, since, "", "%s while Bert had the lock", text)
		wait(anna, moment)
		b.unset(works)
		if <-bert.done; bert.outcome != history.Sold {
			return "Bert did not sell: his client gave up on what was held"
		}
		return ""
	}
}

func lateAcquire(b *bench, anna *order, acquire *trap) string {
	b.note(anna, time.Now(), "", "its acquire late")
	b.sites[atA].wire.BreakClients()
	wait(anna, margin)
	b.land(acquire)
	if !isClosed(anna.done) { // she asks for the lock again
		b.send("bert", atB)
		return ""
	}
	b.bertAfter(anna)
	return ""
}

// renewalsLost loses what prolongs Anna's lock.
func renewalsLost(b *bench) string {
	p := b.passport
	lose := b.set(&trap{at: atA, does: schedule.LostRequest, always: true, is: func(cmd *wire.Command) bool {
		shape := b.shape(&cmd.Seen) // a renewal may be the same command as the acquire
		return p.renewals[shape] && (!p.acquires[shape] || b.timeline().HeldSince(b.sites[atA].Name).Known())
	}})
	return whileHeld(func(b *bench, anna *order, _ *trap) string {
		since := time.Now()
		b.bert(p.hold())
		if !isClosed(lose.sprung) {
			return "no renewal came while Anna was at work"
		}
		b.note(anna, since, "", "its renewals lost for %s", round(time.Since(since)))
		return ""
	})(b)
}

// whileItWaits has Anna wait for Bert, and does something to her meanwhile.
func whileItWaits(do func(b *bench, anna *order) string) func(*bench) string {
	return func(b *bench) string {
		works := b.set(b.replyOf(atB, b.passport.beforeWrite()))
		bert := b.send("bert", atB)
		if why := b.caught(works, bert); why != "" {
			return why
		}
		anna := b.send("anna", atA)
		wait(anna, 300*time.Millisecond)
		if isClosed(anna.done) {
			return "Anna was answered at once: orders do not wait"
		}
		if why := do(b, anna); why != "" {
			return why
		}
		time.Sleep(200 * time.Millisecond)
		b.unset(works)
		<-bert.done
		b.settle(anna)
		return ""
	}
}

func hangUpWaiting(b *bench, anna *order) string {
	b.note(anna, time.Now(), "", "hung up while it waited")
	anna.hang()
	return ""
}

func dieWaiting(b *bench, anna *order) string { return crash(b, anna, nil) }

// settle waits for what a shop does for a customer who has hung up: it may still buy for her.
func (b *bench) settle(o *order) {
	for until := time.Now().Add(b.passport.Takes + margin); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if b.sites[o.at].isDown() {
			return
		}
		if slices.ContainsFunc(b.byOrder()[o], func(c observation) bool { return c.did((*history.Command).Releases) }) {
			return
		}
	}
}

func hangUpWorking(b *bench, anna *order, held *trap) string {
	b.note(anna, time.Now(), "", "hung up while it worked")
	anna.hang()
	time.Sleep(200 * time.Millisecond)
	b.unset(held)
	b.settle(anna)
	b.bertAfter(anna)
	return ""
}

// waiterUnheard loses what a waiter is to hear, or holds its subscription until the lock has been released.
func waiterUnheard(is func(*wire.Command) bool, does schedule.Decision) func(*bench) string {
	return whileHeld(func(b *bench, anna *order, held *trap) string {
		unheard := b.set(&trap{at: atB, does: does, always: does == schedule.Refuse, is: is})
		bert := b.send("bert", atB)
		wait(bert, 300*time.Millisecond)
		b.unset(held)
		<-anna.done
		b.quiet()
		if does == schedule.Pass {
			b.unset(unheard)
		}
		<-bert.done
		if unheard.cmd == nil {
			return "Bert waited for no message"
		}
		b.note(bert, unheard.cmd.Came, "", "unheard")
		return ""
	})
}

// remove brings the lock to rest, as if somebody had removed it.
func (b *bench) remove() error { return b.putLocks(nil) }

// putLocks puts the keys of the lock into those states, and the others to rest.
func (b *bench) putLocks(held map[wire.Key]wire.KeyState) error {
	return b.alone(func(to *redis.Client) (err error) {
		for _, lock := range b.passport.locks {
			state, is := held[lock.Key]
			if !is {
				state = lock.Rest
			}
			err = errors.Join(err, lock.Put(b.ctx, to, state))
		}
		return err
	})
}

// keyRemoved removes the lock while Anna has it. The next renewal finds it gone, or Bert's.
func keyRemoved(renewed bool) func(b *bench, anna *order, held *trap) string {
	return func(b *bench, anna *order, held *trap) string {
		p, since := b.passport, time.Now()
		if err := b.remove(); err != nil {
			return err.Error()
		}
		renewal := min(p.Every*3/2, p.hold())
		if renewed {
			time.Sleep(renewal)
		}
		works := b.set(b.replyOf(atB, p.beforeWrite()))
		bert := b.send("bert", atB)
		select {
		case <-works.sprung:
			wait(bert, renewal)
		case <-time.After(p.hold()):
		}
		b.note(anna, since, "", "its lock removed")
		b.unset(held)
		wait(anna, time.Second)
		b.unset(works)
		return ""
	}
}

// busy puts the lock's keys into the state in which an order held them, without a TTL, until Anna's order has ended.
func busy(b *bench) string {
	p, since := b.passport, time.Now()
	if err := b.putLocks(p.held); err != nil {
		return err.Error()
	}
	taken := time.Now()
	anna := b.send("anna", atA)
	<-anna.done
	if !tookAt(b.byOrder()[anna]).IsZero() {
		return p.whyNotKept()
	}
	freed := time.Now()
	if err := b.remove(); err != nil {
		return err.Error()
	}
	ours := history.Op{Order: b.Product + "-us", Phase: history.Buy, Instance: cause.Us, Outcome: history.NotSold,
		Detail: "the trial itself, which kept the lock", Sent: b.since(since), Done: b.since(freed),
		Lease: &history.Lease{AcquiredAt: b.since(taken), ReleasedAt: b.since(freed)}}
	for _, key := range p.Locks {
		ours.Trace = append(ours.Trace,
			history.Command{Node: b.store.Host, Cmd: "restore", Key: key, Reply: "OK", At: b.since(since), End: b.since(taken),
				Source: history.Looked, Effect: history.EffectAcquired | history.Endless},
			history.Command{Node: b.store.Host, Cmd: "del", Key: key, Reply: "1", At: b.since(freed),
				End: b.since(time.Now()), Source: history.Looked, Effect: history.EffectReleased})
	}
	b.extra = append(b.extra, ours)
	b.note(anna, taken, "", "refused the lock, which somebody keeps")
	return ""
}

// whyNotKept says why an order acquires the lock though that was put into the state in which an order held it.
func (p *Passport) whyNotKept() string {
	switch {
	case p.InValue > 0:
		return fmt.Sprintf("the lease is in the lock's %s, and what is put back may be over", p.where())
	case !slices.ContainsFunc(p.locks, func(l wire.Lock) bool { return l.Held(p.held[l.Key]) }):
		return "the lock was gone before the trial could see it held: it cannot be put back"
	}
	return "what is put back does not keep others out: an order takes it over"
}

// serverRestart has the effect of a restart that keeps the stock, and what was there before the first order.
func serverRestart(b *bench, anna *order, _ *trap) string {
	b.note(anna, time.Now(), "", "the Redis restarted")
	err := b.alone(func(to *redis.Client) error {
		now, err := wire.Snapshot(b.ctx, to)
		for key := range now {
			if before, was := b.passport.before[key]; key.Name != b.shelf().Key && err == nil {
				if !was {
					before = wire.KeyState{Kind: "none"}
				}
				err = wire.PutState(b.ctx, to, key, before)
			}
		}
		return errors.Join(err, to.ScriptFlush(b.ctx).Err())
	})
	if err != nil {
		return err.Error()
	}
	for _, e := range b.sites {
		e.wire.Break()
	}
	b.bert(margin)
	return ""
}

// cutOff keeps a from the Redis for longer than a lease.
func cutOff(b *bench, anna *order, _ *trap) string {
	since := time.Now()
	b.reach(atA, false)
	b.bert(b.passport.Lease() + margin)
	b.note(anna, since, "", "cut off from the Redis for %s", round(time.Since(since)))
	b.reach(atA, true)
	return ""
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
