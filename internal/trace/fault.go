package trace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A fault is injected into an order from inside the instance, at a given command. Without the flag --faults there is
// none. It is written <action>@<point>, several faults are separated by commas:
//
//	sleep:500ms@before:del        sleeps before the first DEL of the order is sent
//	crash@after:setnx             kills the process, as by SIGKILL, after the reply to SETNX
//	stop@before:set/stock         stops the process, as by SIGSTOP, before the stock is written
//	hold@after:set/lock           keeps the order waiting until it is released: GET /faults, DELETE /faults/{order}
//
// A point is before or after a command as the client sends it, in lower case: scripts by their name (eval:release), SQL
// statements about a lock by theirs (sql:acquire, sql:renew, sql:release). /stock or /lock says which kind of key is
// meant, if both get that command. Every fault fires once.

// maxDuration bounds how long a fault may sleep or hold.
const maxDuration = time.Minute

// maxFaults bounds the faults of one order.
const maxFaults = 8

// ErrSyntax says that a fault is not written correctly.
var ErrSyntax = errors.New("a fault is <action>@<point>, such as sleep:500ms@before:del, crash@after:setnx, " +
	"stop@before:set/stock, hold@after:set/lock")

// A Fault is an action at one point of an order.
type Fault struct {
	Action string        // sleep, crash, stop, hold
	For    time.Duration // of a sleep
	After  bool          // after the command's reply, not before it is sent
	Cmd    string        // the command
	On     string        // stock, lock, or empty for any key
	once   sync.Once
}

// String returns the fault in the syntax that ParseFaults reads.
func (f *Fault) String() string {
	action, when, on := f.Action, "before", ""
	if f.Action == "sleep" {
		action += ":" + f.For.String()
	}
	if f.After {
		when = "after"
	}
	if f.On != "" {
		on = "/" + f.On
	}
	return action + "@" + when + ":" + f.Cmd + on
}

// ParseFaults reads faults, separated by commas. It returns ErrSyntax for a text that is no fault, and for one that
// this system cannot inject.
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
	f := &Fault{After: when == "after"}
	f.Cmd, f.On, _ = strings.Cut(strings.ToLower(cmd), "/")
	if f.Cmd == "" || f.On != "" && f.On != "stock" && f.On != "lock" {
		return nil, fmt.Errorf("%w; not %q", ErrSyntax, text)
	}
	return f, f.setAction(action)
}

func (f *Fault) setAction(text string) error {
	var arg string
	f.Action, arg, _ = strings.Cut(text, ":")
	switch f.Action {
	case "crash", "hold":
	case "stop":
		if !canStop {
			return fmt.Errorf("%w: a process cannot be stopped on this system", ErrSyntax)
		}
	case "sleep":
		d, err := time.ParseDuration(arg)
		if err != nil || d <= 0 || d > maxDuration {
			return fmt.Errorf("%w; a sleep is longer than 0 and no longer than %v", ErrSyntax, maxDuration)
		}
		f.For = d
		return nil
	default:
		return fmt.Errorf("%w; there is no action %q", ErrSyntax, f.Action)
	}
	if arg != "" {
		return fmt.Errorf("%w; %s takes no argument", ErrSyntax, f.Action)
	}
	return nil
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
