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

// A gate holds each command of each client until the scheduler lets it through. It is the only place where a client
// waits for the scheduler, so when all goroutines of a schedule are blocked, the commands at the gate are all that can
// happen next.
type gate struct {
	mu      sync.Mutex
	waiting []*command
	ended   bool          // commands fail at once
	open    bool          // commands of live clients pass at once
	arrived chan struct{} // holds one notice that a command has come, or that a client is done
	steps   int           // that the scheduler has taken
}

func newGate() *gate { return &gate{arrived: make(chan struct{}, 1)} }

// A command waits at the gate. A message of a subscription does so too, before its receiver gets it.
type command struct {
	client  *client
	server  *store
	name    string   // in lower case; a script by its name: "eval:release"
	keys    []string // all keys that it reads or writes
	write   bool     // whether it writes; once it was carried out: whether it has written
	opens   bool     // whether it may begin a lease; once it was carried out: whether it has
	message bool
	whole   bool // whether it is a script that is sent again whole, because the server did not know it
	args    []any
	nth     int   // how many commands with this name and key the client sent to this server before
	since   int   // the steps that had been taken when it came to the gate
	round   int   // equal for commands that came at once and say the same to different servers; 0: not known yet
	order   int32 // which order of the client it was sent in, from 0
	sent    time.Time

	decided  chan decision
	decision decision
	err      error         // of a command that was carried out
	late     *late         // of a command that arrives after its client has given it up
	replies  []redis.Cmder // of one that was carried out: those of a pipeline are several
}

// A decision of the scheduler about one command.
type decision uint8

const (
	fail        decision = iota // the schedule has ended
	pass                        // carry it out
	refuse                      // the server cannot be reached
	loseRequest                 // it is never carried out, and its client waits for the reply in vain
	loseReply                   // it is carried out, and its client waits for the reply in vain
	comeLate                    // its client waits for the reply in vain, and it may still be carried out after that
	tooLate                     // no decision: its context or its connection has ended
)

// wait returns what the scheduler decides about a command. A command that was not let through when its context ends, or
// its connection, is never sent.
func (g *gate) wait(ended <-chan struct{}, c *client, cmd *command) decision {
	g.mu.Lock()
	cmd.client, cmd.decided, cmd.since = c, make(chan decision, 1), g.steps
	cmd.order, cmd.sent = c.order.Load(), time.Now()
	cmd.nth = c.sent[cmd.id()]
	c.sent[cmd.id()]++
	switch {
	case g.ended || c.retired:
		cmd.decided <- fail
	case g.open && !c.dead:
		cmd.decided <- pass
	default:
		g.waiting = append(g.waiting, cmd)
		if !c.dead && !c.held {
			g.notice()
		}
	}
	g.mu.Unlock()
	select {
	case d := <-cmd.decided:
		return d
	case <-ended:
		g.remove(cmd)
		return tooLate
	}
}

// change changes what the scheduler knows of a client, and what a goroutine of the client reads here.
func (g *gate) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

// step notes that the scheduler takes a step. What comes to the gate from now on is a consequence of it.
func (g *gate) step() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.steps++
}

func (g *gate) remove(cmd *command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(other *command) bool { return other == cmd })
}

// notice tells a scheduler that lets time pass that something has happened.
func (g *gate) notice() {
	select {
	case g.arrived <- struct{}{}:
	default:
	}
}

// id names a command apart from how often it was sent. A client may send the same command for two keys at once.
func (cmd *command) id() string { return cmd.server.name + " " + cmd.name + " " + cmd.key() }

// key returns the first key, "" if there is none.
func (cmd *command) key() string {
	if len(cmd.keys) == 0 {
		return ""
	}
	return cmd.keys[0]
}

// of returns the waiting commands of a client, in the order in which a trace counts them.
func (g *gate) of(c *client) []*command {
	g.mu.Lock()
	defer g.mu.Unlock()
	var own []*command
	for _, cmd := range g.waiting {
		if cmd.client == c {
			own = append(own, cmd)
		}
	}
	slices.SortStableFunc(own, func(a, b *command) int { return a.place().Compare(b.place()) })
	for _, cmd := range own {
		if cmd.round == 0 {
			cmd.round = 1 + slices.IndexFunc(own, cmd.saysTheSame)
		}
	}
	return own
}

func (cmd *command) place() schedule.Place {
	return schedule.Place{Server: cmd.server.index, Name: cmd.name, Key: cmd.key(), Nth: cmd.nth}
}

// saysTheSame reports whether two commands of one client came at once, with the same arguments.
func (cmd *command) saysTheSame(other *command) bool {
	return cmd.since == other.since && cmd.name == other.name && reflect.DeepEqual(cmd.args, other.args)
}

// decide lets a command go, in the way of the decision.
func (g *gate) decide(cmd *command, d decision) {
	g.remove(cmd)
	cmd.decided <- d
}

// openAll lets the waiting commands of live clients through, and all that they send from now on.
func (g *gate) openAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
	g.waiting = slices.DeleteFunc(g.waiting, func(cmd *command) bool {
		if cmd.client.dead {
			return false
		}
		cmd.decided <- pass
		return true
	})
}

// retire lets the waiting commands of a client fail, and all that it sends from now on.
func (g *gate) retire(c *client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.retired = true
	g.waiting = slices.DeleteFunc(g.waiting, func(cmd *command) bool {
		if cmd.client == c {
			cmd.decided <- fail
		}
		return cmd.client == c
	})
}

// end lets all commands fail, so that the goroutines of the schedule come to their end.
func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	for _, cmd := range g.waiting {
		cmd.decided <- fail
	}
	g.waiting = nil
}

// A hook brings the commands that one client sends to one server to the gate.
type hook struct {
	gate   *gate
	client *client
	server *store
	names  scriptNames

	mu      sync.Mutex
	unknown map[string]*command // by digest: scripts that the server did not know, and that are sent again whole
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
			if sent.decision != comeLate { // of which nothing is known here
				sent.write = sent.write && !changedNothing(sent.name, cmd)
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
			if sent.decision != comeLate {
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

// through does with a command what the scheduler has decided.
func (h *hook) through(ctx context.Context, cmd *command, carryOut func() error, setErr func(error)) error {
	var err error
	switch cmd.decision {
	case pass:
		cmd.err = carryOut()
		return cmd.err
	case fail, refuse:
		err = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case loseReply:
		cmd.err = carryOut()
		if redis.HasErrorPrefix(cmd.err, "NOSCRIPT") {
			return cmd.err
		}
		err = h.timeOut(ctx)
	case loseRequest:
		err = h.timeOut(ctx)
	case comeLate:
		if cmd.isUnknownScript() {
			return carryOut() // the client sends it again whole, and that is late
		}
		cmd.client.delayed.Store(cmd)
		_ = carryOut()
		err = errNoReply
	case tooLate:
		err = ctx.Err()
	}
	setErr(err)
	return err
}

// timeOut waits for a reply that does not come, and returns the error of the client.
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

// remember notes a script that the server does not know. The client sends it whole at once: that is the same step.
func (h *hook) remember(cmd redis.Cmder, sent *command) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unknown == nil {
		h.unknown = map[string]*command{}
	}
	h.unknown[digestOf(cmd.Args())] = sent
}

// again returns the step that a script belongs to which is sent again whole.
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
