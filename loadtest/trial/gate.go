package trial

import (
	"context"
	"slices"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A trap waits for a command of an instance, and does with it what its fault wants. It springs once, or always.
type trap struct {
	at     int
	is     func(*wire.Command) bool     // of a command that has come
	did    func([]history.Command) bool // of one that was carried out; nil: anything. Only for a reply that is held
	does   schedule.Decision            // Pass: the command is held, or its reply
	answer string                       // the error by which a command is refused; "": its connection breaks
	reply  bool                         // the reply is held
	always bool
	since  history.Instant // its order has acquired the lock since then, or will

	sprung chan struct{} // closed when it has caught one
	cmd    *wire.Command // that it has caught
}

// set sets a trap.
func (b *bench) set(t *trap) *trap {
	t.sprung = make(chan struct{})
	b.trapsMu.Lock()
	defer b.trapsMu.Unlock()
	b.traps = append(b.traps, t)
	return t
}

// unset lets a trap go, with what it holds.
func (b *bench) unset(t *trap) {
	b.trapsMu.Lock()
	defer b.trapsMu.Unlock()
	i := slices.Index(b.traps, t)
	if i < 0 {
		return
	}
	b.traps = slices.Delete(b.traps, i, i+1)
	switch {
	case t.cmd == nil:
	case t.reply:
		close(t.cmd.Deliver)
	case t.does == schedule.ComesLate:
		close(t.cmd.Arrive)
	default:
		b.Gate.Decide(t.cmd, schedule.Pass)
	}
}

// letThrough lets all commands through but those for which there is a trap.
func (b *bench) letThrough(ctx context.Context) {
	for {
		select {
		case <-b.Gate.Arrived:
		case <-ctx.Done():
			return
		}
		for _, e := range b.Ends {
			for _, cmd := range b.Gate.Of(&e.Client) {
				b.decide(cmd)
			}
		}
	}
}

func (b *bench) decide(cmd *wire.Command) {
	b.trapsMu.Lock()
	defer b.trapsMu.Unlock()
	if slices.ContainsFunc(b.traps, func(t *trap) bool { return t.cmd == cmd }) {
		return // it is held
	}
	if write := b.lateBefore(cmd); write != nil {
		cmd.Arrive = make(chan struct{})
		b.Gate.Decide(cmd, schedule.ComesLate)
		go func() {
			<-write.Done()
			close(cmd.Arrive)
		}()
		return
	}
	i := slices.IndexFunc(b.traps, func(t *trap) bool {
		return t.at == cmd.Client.Index && (t.cmd == nil || t.always) && t.is(cmd)
	})
	if i < 0 {
		b.Gate.Decide(cmd, schedule.Pass)
		return
	}
	t := b.traps[i]
	switch {
	case t.reply:
		cmd.Deliver = make(chan struct{})
		b.Gate.Decide(cmd, schedule.Pass)
		go b.holdReply(t, cmd)
		return
	case t.does == schedule.ComesLate:
		cmd.Arrive = make(chan struct{})
		b.Gate.Decide(cmd, t.does)
	case t.does != schedule.Pass:
		cmd.Error = t.answer
		b.Gate.Decide(cmd, t.does)
	}
	t.spring(cmd)
}

// lateBefore returns the late write behind which a release was sent on the same connection: it cannot arrive before
// that. Renewals can, since most clients have them elsewhere.
func (b *bench) lateBefore(release *wire.Command) *wire.Command {
	for _, t := range b.traps {
		if t.does == schedule.ComesLate && t.cmd != nil && t.cmd.Client == release.Client && t.cmd.Conn == release.Conn &&
			b.passport.releases[b.shape(&release.Seen)] {
			return t.cmd
		}
	}
	return nil
}

// spring notes what a trap has caught. The caller has the bench's lock.
func (t *trap) spring(cmd *wire.Command) {
	if t.cmd == nil {
		t.cmd = cmd
		close(t.sprung)
	}
}

// holdReply holds the reply of a command that has come into a trap, if it did what the trap is for.
func (b *bench) holdReply(t *trap, cmd *wire.Command) {
	<-cmd.Done()
	caught := t.did == nil || t.did(b.looker.Load().Traced(cmd))
	b.trapsMu.Lock()
	defer b.trapsMu.Unlock()
	if caught && t.cmd == nil && slices.Contains(b.traps, t) {
		t.spring(cmd)
		return
	}
	close(cmd.Deliver)
}
