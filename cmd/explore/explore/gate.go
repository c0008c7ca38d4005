package explore

import (
	"context"
	"net"
	"os"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/schedule"
)

// A gate is the only place where a client waits for the scheduler, so when all goroutines of a schedule are blocked,
// the commands at the gate are all that can happen next.
type gate struct {
	*schedule.Gate[*command]
	steps int // taken by the scheduler
}

// A command is one of go-redis, or a pipeline, or a message.
type command struct {
	schedule.Command
	client *client
	server *store
	write  bool // whether it may write; once carried out: whether it has
	opens  bool // whether it may begin a lease; once carried out: whether it has
	whole  bool // whether it is a script resent in full, as the server did not know it
	args   []any
	since  int   // the number of steps taken when it came to the gate
	round  int   // equal for commands that came at once and are the same for different servers; 0: not known yet
	order  int32 // the client's order that sent it, from 0
	sent   time.Time

	decision schedule.Decision
	err      error         // of a command that was carried out
	late     *late         // of a command that arrives after its client has given it up
	replies  []redis.Cmder // of one that was carried out; several for a pipeline
}

// wait returns the scheduler's decision about a client's command.
func (g *gate) wait(ended <-chan struct{}, c *client, cmd *command) schedule.Decision {
	g.Change(func() { cmd.since = g.steps })
	cmd.client, cmd.order, cmd.sent = c, c.order.Load(), time.Now()
	cmd.Client, cmd.Server = &c.Client, &cmd.server.Server
	return g.Wait(cmd, ended)
}

// step counts a step of the scheduler. Commands that arrive from now on are consequences of it.
func (g *gate) step() { g.Change(func() { g.steps++ }) }

// of returns the waiting commands of a client, in the order in which a trace counts them.
func (g *gate) of(c *client) []*command {
	own := g.Of(&c.Client)
	for _, cmd := range own {
		if cmd.round == 0 {
			cmd.round = 1 + slices.IndexFunc(own, cmd.saysTheSame)
		}
	}
	return own
}

// saysTheSame reports whether two commands of one client came at once, with the same arguments.
func (cmd *command) saysTheSame(other *command) bool {
	return cmd.since == other.since && cmd.Name == other.Name && reflect.DeepEqual(cmd.args, other.args)
}

// A hook takes the commands of one client for one server to the gate.
type hook struct {
	gate   *gate
	client *client
	server *store
	names  scriptNames

	mu      sync.Mutex
	unknown map[string]*command // by digest: scripts that the server did not know, and that will be resent in full
}

// DialHook is part of redis.Hook.
func (h *hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is part of redis.Hook.
func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if ctx.Err() != nil || cmd.Name() == "hello" || cmd.Name() == "unwatch" {
			return next(ctx, cmd) // it is never sent, or concerns its own connection alone
		}
		sent, again := h.again(cmd)
		if !again {
			sent = h.names.command(h.server, cmd)
			sent.decision = h.gate.wait(ctx.Done(), h.client, sent)
		}
		return h.through(ctx, sent, func() error {
			err := next(ctx, cmd)
			if redis.HasErrorPrefix(err, "NOSCRIPT") {
				h.remember(cmd, sent)
			}
			if sent.decision != schedule.ComesLate { // its outcome is unknown here
				sent.write = sent.write && !changedNothing(sent.Name, cmd)
				sent.replies = []redis.Cmder{cmd}
			}
			return err
		}, cmd.SetErr)
	}
}

// ProcessPipelineHook is part of redis.Hook. A pipeline or a transaction is one step.
func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if ctx.Err() != nil {
			return next(ctx, cmds)
		}
		sent := h.names.command(h.server, cmds...)
		sent.decision = h.gate.wait(ctx.Done(), h.client, sent)
		return h.through(ctx, sent, func() error {
			if sent.decision != schedule.ComesLate {
				sent.replies = cmds
			}
			return next(ctx, cmds)
		}, func(err error) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		})
	}
}

// through carries out the scheduler's decision about a command.
func (h *hook) through(ctx context.Context, cmd *command, carryOut func() error, setErr func(error)) error {
	var err error
	switch cmd.decision {
	case schedule.Pass:
		cmd.err = carryOut()
		return cmd.err
	case schedule.Fail, schedule.Refuse:
		err = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case schedule.LostReply:
		cmd.err = carryOut()
		if redis.HasErrorPrefix(cmd.err, "NOSCRIPT") {
			return cmd.err
		}
		err = h.timeOut(ctx)
	case schedule.LostRequest:
		err = h.timeOut(ctx)
	case schedule.ComesLate:
		if cmd.isUnknownScript() {
			return carryOut() // the client resends it in full, and that is late
		}
		cmd.client.delayed.Store(cmd)
		_ = carryOut()
		err = errNoReply
	case schedule.TooLate:
		err = ctx.Err()
	}
	setErr(err)
	return err
}

// timeOut waits for a reply that never comes, and returns the client's error.
func (h *hook) timeOut(ctx context.Context) error {
	until := time.Now().Add(clientTimeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	time.Sleep(time.Until(until))
	return errNoReply
}

// errNoReply is the error of a client that waits in vain.
var errNoReply = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}

// remember notes a script that the server does not know. The client resends it in full at once: that is the same step.
func (h *hook) remember(cmd redis.Cmder, sent *command) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unknown == nil {
		h.unknown = map[string]*command{}
	}
	h.unknown[digestOf(cmd.Args())] = sent
}

// again returns the step to which a resent script belongs.
func (h *hook) again(cmd redis.Cmder) (*command, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.unknown) == 0 || cmd.Name() != "eval" {
		return nil, false
	}
	digest := digestOf(cmd.Args())
	sent, ok := h.unknown[digest]
	delete(h.unknown, digest)
	if ok {
		sent.whole = true
	}
	return sent, ok
}
