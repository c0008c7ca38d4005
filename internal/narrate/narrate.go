// Package narrate prints the steps of orders for people who try the service by hand: an order waits, holds the lock,
// reads the stock, sells, releases. The sale reports some of the steps; the others follow from the commands in the
// trace. No lock and no shelf contains narration code.
//
// Read [Narrator.Begin], then order.go for the steps that a sale reports, and commands.go for those of the trace.
package narrate

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// A Narrator prints the lines of all orders of an instance.
type Narrator struct {
	color bool

	mu         sync.Mutex
	w          io.Writer
	ids, rungs int // the widths of these columns
}

// New returns a narrator that writes one line at a time to w, each by one call of Write.
func New(w io.Writer, color bool) *Narrator {
	return &Narrator{w: w, color: color, ids: maxID, rungs: len("v5.5 ")}
}

// Wants describes an order as it begins.
type Wants struct {
	ID    string
	Rung  string
	Items []stock.Item
	TTL   time.Duration // that the order asks for; some rungs have none
}

// Begin prints the first line of an order. It returns the order, and the context in which the order's commands are
// seen.
func (n *Narrator) Begin(ctx context.Context, w Wants) (context.Context, *Order) {
	o := &Order{narrator: n, wants: w, begun: time.Now(), nodes: map[string]bool{}}
	if w.Items[0].Quantity == 0 {
		o.say(plain, "wants to read "+w.Items[0].Product)
	} else {
		var items []string
		for _, item := range w.Items {
			items = append(items, fmt.Sprintf("%d of %s", item.Quantity, item.Product))
		}
		o.say(plain, "wants "+strings.Join(items, " and "))
	}
	return trace.Watch(ctx, o.command), o
}

// A tone is the colour of a line. Lines in the tone bad have a mark too, for readers who do not see the colour.
type tone string

const (
	plain tone = ""
	quiet tone = "2"    // details
	good  tone = "32"   // what should happen
	slow  tone = "33"   // waiting, and refusals that are normal in a shop
	bad   tone = "1;31" // a lease has expired, or a guarantee is broken
)

// maxID is the width of the longest ID that is printed in full.
const maxID = 10

// print writes one line:
//
//	15:04:05.123 anna       v4     +1001 ms ! its lease has expired (TTL 1s)
//
// Columns grow with their values, so that the lines stay aligned.
func (n *Narrator) print(w Wants, begun time.Time, t tone, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.rungs = max(n.rungs, len(w.Rung))
	mark := " "
	if t == bad {
		mark = "!"
	}
	line := fmt.Sprintf("%s %-*s %-*s %+6d ms %s %s", now.Format("15:04:05.000"), n.ids, shortID(w.ID), n.rungs, w.Rung,
		now.Sub(begun).Milliseconds(), mark, printable(text))
	if n.color && t != plain {
		line = "\x1b[" + string(t) + "m" + line + "\x1b[0m"
	}
	_, _ = io.WriteString(n.w, line+"\n")
}

// shortID returns an ID that fits its column: the beginning and the end of a long one.
func shortID(id string) string {
	if len(id) <= maxID {
		return id
	}
	return id[:5] + "…" + id[len(id)-4:]
}

// printable returns text without line ends and other control characters: a server's reply may contain any.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
