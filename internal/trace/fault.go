package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A fault is injected into an order from inside the instance, at a given command, if the instance has the flag
// --faults. It is written <action>@<point>, several faults are separated by commas:
//
//	hold@before:set/stock         holds the order until it is released: GET /faults, DELETE /faults/{order}
//	work@after:read               the same, but like the order's work it also ends with the order's context
//
// A point is before or after a command as the client sends it, in lower case: scripts by name (eval:release), SQL
// statements about a lock by theirs (sql:acquire, sql:renew, sql:release). /stock or /lock selects the kind of key if
// both get that command. In place of a command a point can name a step of the sale, which each rung implements in its
// own commands: acquire, read, write, renew, release. Every fault fires once.

// maxHold bounds how long a fault may hold an order that nobody releases: a teacher who explains takes minutes.
const maxHold = 10 * time.Minute

// maxFaults bounds the faults of one order.
const maxFaults = 8

// ErrSyntax means that a text is not a fault.
var ErrSyntax = errors.New("a fault is <action>@<point>, such as hold@after:set/lock, work@after:read")

// A Fault is an action at one point of an order.
type Fault struct {
	Action string // hold, work
	After  bool   // after the command's reply, rather than before it is sent
	Cmd    string // the command, or the step
	On     string // stock, lock, or empty for any key
	once   sync.Once
}

// String returns the fault in the syntax of ParseFaults.
func (f *Fault) String() string {
	when := "before"
	if f.After {
		when = "after"
	}
	return f.Action + "@" + when + ":" + f.command()
}

// command returns the command of the point, with the kind of key if given.
func (f *Fault) command() string { return strings.TrimSuffix(f.Cmd+"/"+f.On, "/") }

// ParseFaults parses faults separated by commas. It returns ErrSyntax for a text that is not a fault.
func ParseFaults(text string) ([]*Fault, error) {
	var faults []*Fault
	for one := range strings.SplitSeq(text, ",") {
		f, err := parseFault(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	if len(faults) > maxFaults {
		return nil, fmt.Errorf("%w; %d at most", ErrSyntax, maxFaults)
	}
	return faults, nil
}

func parseFault(text string) (*Fault, error) {
	action, point, ok := strings.Cut(text, "@")
	when, cmd, ok2 := strings.Cut(point, ":")
	if !ok || !ok2 || when != "before" && when != "after" {
		return nil, fmt.Errorf("%w; not %q", ErrSyntax, text)
	}
	f := &Fault{Action: action, After: when == "after"}
	f.Cmd, f.On, _ = strings.Cut(strings.ToLower(cmd), "/")
	if f.Cmd == "" || f.On != "" && f.On != "stock" && f.On != "lock" {
		return nil, fmt.Errorf("%w; not %q", ErrSyntax, text)
	}
	if action != "hold" && action != "work" {
		return nil, fmt.Errorf("%w; unknown action %q", ErrSyntax, action)
	}
	return f, nil
}

// steps are the names of steps that a point may have in place of a command.
var steps = []string{"acquire", "read", "write", "renew", "release"}

// stepsOf returns the steps that a command on that kind of key carries out, on any rung.
func stepsOf(cmd, on string) []string {
	switch cmd + "/" + on {
	case "setnx/lock", "set/lock", "zk:create/lock":
		return []string{"acquire"}
	case "del/lock", "delex/lock", "delifeq/lock", "zk:delete/lock":
		return []string{"release"}
	case "get/stock":
		return []string{"read"}
	case "set/stock":
		return []string{"write"}
	case "eval:take/stock":
		return []string{"read", "write"}
	}
	_, name, _ := strings.Cut(cmd, ":") // of a script or a statement
	step, _, _ := strings.Cut(name, "-")
	return []string{step}
}

// isAt reports whether the fault's point is at that command on the lock or the stock.
func (f *Fault) isAt(cmd, on string) bool {
	return f.Cmd == cmd && (f.On == "" || f.On == on) ||
		f.On == "" && slices.Contains(steps, f.Cmd) && slices.Contains(stepsOf(cmd, on), f.Cmd)
}

// Reached returns ErrSyntax for a fault at none of the commands that the order may send. Such a fault would never fire,
// and the order would sell as if it had none.
func Reached(faults []*Fault, commands []string) error {
	for _, f := range faults {
		if !slices.ContainsFunc(commands, func(point string) bool { return f.isAt(split(point)) }) {
			return fmt.Errorf("%w; this rung never reaches %q, only %s", ErrSyntax, f.command(),
				strings.Join(named(commands), ", "))
		}
	}
	return nil
}

// split returns the command of a point, and its kind of key.
func split(point string) (cmd, on string) {
	cmd, on, _ = strings.Cut(point, "/")
	switch {
	case on != "":
	case cmd == "eval:read", cmd == "eval:write", cmd == "eval:take":
		on = "stock"
	default:
		on = "lock"
	}
	return cmd, on
}

// named returns the points with the steps that they carry out: "write (set/stock)".
func named(commands []string) []string {
	list := slices.Clone(commands)
	for i, point := range list {
		if of := stepsOf(split(point)); slices.Contains(steps, of[0]) {
			list[i] = strings.Join(of, " or ") + " (" + point + ")"
		}
	}
	return list
}

type faultsKey struct{}

type orderFaults struct {
	order  string
	faults []*Fault
}

// WithFaults returns a context that carries the faults of an order.
func WithFaults(ctx context.Context, order string, faults []*Fault) context.Context {
	return context.WithValue(ctx, faultsKey{}, orderFaults{order, faults})
}

func hasFaults(ctx context.Context) bool { return ctx.Value(faultsKey{}) != nil }
