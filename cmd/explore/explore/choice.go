package explore

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"

	"stockapi/internal/lock"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
)

// A choice is a step that the scheduler may take next.
type choice struct {
	search.Option
	cmd    *command // that the step concerns, or nil
	node   *store   // the one Redlock node that the step concerns
	paused bool     // time passes while a command is ready
}

// newChoice returns the choice of a step that concerns a command, or none. Its ID names the command, and not its place
// among those that wait.
func newChoice(step schedule.Step, cmd *command) choice {
	named := step
	named.Nth = 0
	id := named.String()
	if cmd != nil {
		id += " " + cmd.ID() + " " + strconv.Itoa(cmd.Nth)
	}
	return choice{Option: search.Option{Step: step, ID: id}, cmd: cmd}
}

// optionsOf returns what a search sees of choices.
func optionsOf(choices []choice) []search.Option {
	options := make([]search.Option, len(choices))
	for i, c := range choices {
		options[i] = c.Option
	}
	return options
}

// reaches reports whether the step's command is carried out.
func (c choice) reaches() bool {
	switch c.Kind {
	case schedule.Grant, schedule.CrashAfter, schedule.LoseReply, schedule.Arrive:
		return true
	}
	return false
}

// choices lists the steps that may be taken now, commands first. When no order is under way, only commands already sent
// are left: a schedule without them would not show their effect.
func (w *world) choices() []choice {
	var list []choice
	moving, ready := w.moving()
	for _, c := range ready {
		for n, cmd := range w.gate.of(c) {
			list = append(list, newChoice(schedule.Step{Kind: schedule.Grant, Who: c.Index, Nth: n}, cmd))
		}
	}
	if w.isOver() {
		return list
	}
	switch {
	case len(moving) > 0:
	case len(ready) == 0:
		list = append(list, newChoice(schedule.Step{Kind: schedule.Time}, nil))
	case w.pauses < w.mostPauses() && w.isPending():
		pause := newChoice(schedule.Step{Kind: schedule.Time}, nil)
		pause.paused = true
		list = append(list, pause)
	}
	list = append(list, w.arrivals()...)
	for i, node := range w.nodes {
		if node.Down {
			list = append(list, w.nodeChoice(schedule.NodeBack, i))
		}
	}
	if w.faults < w.bounds.Faults {
		list = append(list, w.faultChoices(moving, ready)...)
	}
	return list
}

// isOver reports whether all orders of live clients are done, and no command is still in flight.
func (w *world) isOver() bool {
	return len(w.late) == 0 && !slices.ContainsFunc(w.clients, func(c *client) bool { return !c.Dead && !c.isDone() })
}

// moving lists the clients that keep time from passing: they are under way, and have a command that could be carried
// out at once. Ready lists all clients that have a command. An order that has not begun can begin at any time.
func (w *world) moving() (moving, ready []*client) {
	for _, c := range w.clients {
		if c.Dead || len(w.gate.of(c)) == 0 {
			continue
		}
		ready = append(ready, c)
		if c.started && !c.Held {
			moving = append(moving, c)
		}
	}
	return moving, ready
}

// isPending reports whether anything happens when time passes: a key expires, or a waiting order goes on.
func (w *world) isPending() bool {
	return !w.expiry().IsZero() || slices.ContainsFunc(w.clients, func(c *client) bool {
		return c.started && !c.Dead && !c.isDone() && len(w.gate.of(c)) == 0
	})
}

// faultChoices lists the faults that may be injected now.
func (w *world) faultChoices(moving, ready []*client) (list []choice) {
	for _, kind := range w.bounds.Kinds {
		switch kind {
		case schedule.Expiry:
			if len(moving) > 0 && w.isPending() {
				list = append(list, newChoice(schedule.Step{Kind: schedule.Expiry}, nil))
			}
		case schedule.Hold: // while other clients move no time passes, so it can begin once they stop
			if len(moving) == 1 && w.isPending() {
				list = append(list, newChoice(schedule.Step{Kind: schedule.Hold, Who: moving[0].Index}, nil))
			}
		case schedule.CrashBefore, schedule.GiveUp:
			list = append(list, w.clientFaults(kind, ready)...)
		case schedule.CrashAfter, schedule.LoseRequest, schedule.LoseReply, schedule.Late, schedule.Drop:
			list = append(list, w.commandFaults(kind, ready)...)
		default:
			list = append(list, w.serverFaults(kind)...)
		}
	}
	return list
}

// clientFaults lists the faults of one kind that concern a client whose order is under way.
func (w *world) clientFaults(kind schedule.Kind, ready []*client) (list []choice) {
	for _, c := range w.clients {
		crashes := kind == schedule.CrashBefore && slices.Contains(ready, c)
		leaves := kind == schedule.GiveUp && !c.Dead && !c.left && !c.isDone()
		if c.started && (crashes || leaves) {
			list = append(list, newChoice(schedule.Step{Kind: kind, Who: c.Index}, nil))
		}
	}
	return list
}

// commandFaults lists the faults of one kind that concern a command.
func (w *world) commandFaults(kind schedule.Kind, ready []*client) (list []choice) {
	for _, c := range ready {
		for n, cmd := range w.gate.of(c) {
			if cmd.Message == (kind == schedule.Drop) && (cmd.Name != "subscribe" || kind == schedule.LoseRequest) {
				list = append(list, newChoice(schedule.Step{Kind: kind, Who: c.Index, Nth: n}, cmd))
			}
		}
	}
	return list
}

// serverFaults lists the faults of one kind that concern a lock server.
func (w *world) serverFaults(kind schedule.Kind) (list []choice) {
	if !w.locks {
		return nil
	}
	for i, node := range w.nodes {
		if kind == schedule.NodeDown && !node.Down || kind != schedule.NodeDown && !node.isFree() {
			list = append(list, w.nodeChoice(kind, i))
		}
	}
	return list
}

// nodeChoice returns the choice of a step of a lock server.
func (w *world) nodeChoice(kind schedule.Kind, i int) choice {
	c := newChoice(schedule.Step{Kind: kind, Who: i}, nil)
	c.node = w.redlockNode(i)
	return c
}

// redlockNode returns a node of Redlock, or nil on rungs with one lock server: a restart of that lets time pass.
func (w *world) redlockNode(i int) *store {
	if len(w.nodes) == 1 {
		return nil
	}
	return w.nodes[i]
}

func isBusy(err error) bool { return errors.Is(err, lock.ErrBusy) || errors.Is(err, lock.ErrNoQuorum) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// dialer returns the function that connects a client to a server.
func (w *world) dialer(c *client, s *store) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return newConn(w.gate, c, s), nil }
}
