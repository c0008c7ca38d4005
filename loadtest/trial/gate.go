package trial

import (
	"context"
	"slices"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A trap catches a command of an instance, and holds, loses or refuses it. It springs once, or always.
type trap struct {
	at     int
	is     func(*wire.Command) bool     // matches a command on arrival
	did    func([]history.Command) bool // matches the effects of an executed command; nil: any; for held replies only
	does   schedule.Decision            // Pass: the command is held, or its reply
	answer string                       // the error that refuses a command; "": its connection breaks
	reply  bool                         // hold the reply
	always bool
	since  history.Instant // the order acquires the lock after this

	sprung chan struct{} // closed when it has caught a command
	cmd    *wire.Command // the first one caught
}

// set sets a trap.
func (b *bench) set(t *trap) *trap {
	t.sprung = make(chan struct{})
	b.trapsMu.Lock()
	defer b.trapsMu.Unlock()
	b.traps = append(b.traps, t)
	return t
}

// unset removes a trap, and releases what it holds.
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

// letThrough passes the commands that no trap catches.
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
		return // held
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

// lateBefore returns the late write that precedes a release on the same connection, which the release cannot overtake.
// Renewals can, since most clients send them on another connection.
func (b *bench) lateBefore(release *wire.Command) *wire.Command {
	for _, t := range b.traps {
		if t.does == schedule.ComesLate && t.cmd != nil && t.cmd.Client == release.Client && t.cmd.Conn == release.Conn &&
			b.passport.releases[b.shape(&release.Seen)] {
			return t.cmd
		}
	}
	return nil
}

// spring records what a trap has caught. The caller holds trapsMu.
func (t *trap) spring(cmd *wire.Command) {
	if t.cmd == nil {
		t.cmd = cmd
		close(t.sprung)
	}
}

// holdReply holds the reply to a caught command, if its effects match the trap.
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
