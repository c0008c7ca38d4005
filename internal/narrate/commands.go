package narrate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// command narrates a step that only the commands show. It is called for each event of the order's trace, even after the
// order has ended.
func (o *Order) command(e trace.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case e.Cmd == "fault" && e.End.IsZero():
		o.say(slow, "fault "+e.Key)
	case e.Cmd == "fault":
		o.say(slow, fmt.Sprintf("goes on after %d ms of %s", e.End.Sub(e.At).Milliseconds(), e.Key))
	case e.Cmd == "woken":
		o.say(quiet, "is woken by a release")
	case stock.IsKey(e.Key):
		o.stockCommand(e)
	default:
		o.lockCommand(e)
	}
}

func (o *Order) stockCommand(e trace.Event) {
	read := e.Err == "" && e.Reply != "nil"
	switch {
	case e.Cmd == "watch":
		o.watches = true
	case e.Cmd == "get" && o.watches: // the read that a compare-and-set compares with the first one
		o.watches = false
		switch {
		case e.Err != "":
		case e.Reply != o.read:
			o.say(slow, "read "+e.Reply+" this time: starts over")
		default:
			o.say(plain, "read "+e.Reply+" again")
		}
	case read && (e.Cmd == "get" || e.Cmd == "eval:read"):
		o.read = e.Reply
		o.say(plain, "read "+e.Reply+o.of(strings.TrimPrefix(e.Key, stock.Key(""))))
	}
}

// lockCommand narrates renewals. Of other commands about a lock it notes what the steps of the sale do not show.
func (o *Order) lockCommand(e trace.Event) {
	switch {
	case e.Cmd == "exec" && e.Err != "":
		o.say(slow, "another wrote first: starts over") // of a transaction on the stock
	case renews(e.Cmd):
		o.renewal(e)
	case e.Cmd == "set" || e.Cmd == "pexpire":
		o.nodes[e.Node] = true
		o.hasTTL = o.hasTTL || succeeded(e)
	case e.Cmd == "get":
		o.found = &e.Reply
	case e.Cmd == "del" && e.Err == "":
		o.deleted = &e.Reply
		o.late = !o.end.IsZero() && e.At.After(o.end)
	}
}

// renews reports whether a command renews a lease.
func renews(cmd string) bool {
	return strings.HasPrefix(cmd, "eval:renew") || cmd == "sql:renew" || cmd == "zk:check"
}

// succeeded reports whether the reply to a command is a yes.
func succeeded(e trace.Event) bool {
	if e.Err != "" {
		return false
	}
	n, err := strconv.ParseInt(e.Reply, 10, 64)
	return err == nil && n > 0 || e.Reply == "OK" || e.Reply == "true"
}

func (o *Order) renewal(e trace.Event) {
	at := ""
	if len(o.nodes) > 1 {
		at += " on " + e.Node
	}
	if len(o.wants.Items) > 1 {
		at += ", " + e.Key
	}
	switch {
	case !o.has:
		// A lock of ZooKeeper is checked by the same command before an order enters.
	case !o.released.IsZero():
		if succeeded(e) && e.At.After(o.released) {
			o.say(bad, "renews a lock that it has released"+at)
		}
	case succeeded(e):
		if !o.end.IsZero() {
			o.prolong(time.Now())
		}
		o.say(quiet, "renews its lease"+at)
	case strings.HasPrefix(e.Err, "NOSCRIPT"), strings.Contains(e.Err, context.Canceled.Error()):
		// The client sends the script next, or the release has stopped the renewals.
	case e.Err != "":
		o.say(slow, "renewal failed"+at+": "+e.Err)
	default:
		o.say(bad, "renewal refused: the key is no longer its own"+at)
	}
}
