package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// Some shops sell in a job, which takes the order from a queue. If the other instance may take it, a fault hits an
// instance that does not sell.

// WhoWrote reports which instances wrote the stock since an order was sent: its own one, and the other one.
func WhoWrote(o *shop.Order, writes []Written) (own, other bool) {
	for _, w := range writes {
		if !w.At.Before(o.Sent) {
			own, other = own || w.Instance == o.At, other || w.Instance != o.At
		}
	}
	return own, other
}

// JobOfOther says that the other instance sold for an order, and the remedy.
func (b *Bench) JobOfOther(o *shop.Order) string {
	took, stock := "", b.Pair.Shop.Shelf().Key
	if key := b.queueOf(o, false); key != "" {
		took = "took the order from " + sale.Quoted([]string{key}) + ", and "
	}
	if b.Pair.Shop.IsElsewhere() {
		stock = "to the database"
	}
	return fmt.Sprintf("the other instance sold: it %swrote %s; a trial needs an instance to carry out its own orders: "+
		"give each one a queue of its own, as in env QUEUE=jobs-{port}", took, stock)
}

// jobInCell returns why a cell tests nothing, since a job of the other instance sold for one of its orders; "" if none
// did. Either more orders of an instance sold than it wrote, and the other one wrote before an order was sent there; or
// an order sold without a write of its instance while it was open, and the other one took what it had put into a queue.
func (b *Bench) jobInCell(writes []Written) string {
	lacks := b.lacking(writes)
	for _, o := range b.Orders {
		own := func(w Written) bool { return w.Instance == o.At && !w.At.Before(o.Sent) && o.IsOpen(w.At) }
		stray := func(w Written) bool {
			return w.Instance != o.At && !w.At.Before(o.Sent) && b.openAt(w.Instance, w.At) == nil
		}
		_, other := WhoWrote(o, writes)
		switch {
		case !other || o.Op.Outcome == history.Busy || o.Op.Outcome == history.NotSold:
		case lacks[o.At] > 0 && slices.ContainsFunc(writes, stray),
			o.Op.Outcome == history.Sold && !slices.ContainsFunc(writes, own) && b.queueOf(o, true) != "":
			return b.JobOfOther(o)
		}
	}
	return ""
}

// lacking returns how many orders of each instance may have sold beyond its writes of the stock.
func (b *Bench) lacking(writes []Written) (lacks [2]int) {
	for _, o := range b.Orders {
		if o.Op.Outcome == history.Sold || o.Op.Outcome == history.Unknown {
			lacks[o.At]++
		}
	}
	for _, w := range writes {
		lacks[w.Instance]--
	}
	return lacks
}

// queueOf returns the key, or the channel, by which the other instance got an order: that from which it first took what
// the order's instance had put there since the order was sent. It is "" if that is unknown. Surely means that the value
// is the order's: a waiter may also take a signal.
func (b *Bench) queueOf(o *shop.Order, surely bool) string {
	var put, took []wire.Seen
	add := func(cmd *wire.Command) {
		switch {
		case cmd.Client.Index == o.At && cmd.Sent.After(o.Sent) && !cmd.Message:
			put = append(put, cmd.Seen)
		case cmd.Client.Index != o.At && (cmd.Message || takesFrom(cmd.Args) != "") && got(&cmd.Seen).After(o.Sent):
			took = append(took, cmd.Seen)
		}
	}
	b.Pair.Rig.Gate.Each(add)
	b.Pair.Rig.Gate.Change(func() {
		for _, cmd := range b.blocked {
			add(cmd)
		}
	})
	slices.SortStableFunc(took, func(x, y wire.Seen) int { return got(&x).Compare(got(&y)) })
	for i := range took {
		for j := range put {
			if key := handedOver(&put[j], &took[i], surely); key != "" && !b.Passport.OnLock(key) {
				return key
			}
		}
	}
	return ""
}

// keepBlocked keeps the commands that are blocked at the Redis, before the gate forgets them.
func (b *Bench) keepBlocked() {
	var all []*wire.Command
	keep := func(cmd *wire.Command) {
		if cmd.State == wire.Sent && takesFrom(cmd.Args) != "" {
			all = append(all, cmd)
		}
	}
	b.Pair.Rig.Gate.Change(func() {
		for _, cmd := range b.blocked {
			keep(cmd)
		}
	})
	b.Pair.Rig.Gate.Each(keep)
	b.blocked = all
}

// got returns when the reply to a command arrived, or when a message was delivered.
func got(s *wire.Seen) time.Time {
	if s.Message {
		return s.Delivered
	}
	return s.Answered
}

// handedOver returns the key or the channel by which a value of one command got into the reply to another one or,
// unless it has to be sure, which both name; "" if there is none.
func handedOver(put, took *wire.Seen, surely bool) string {
	from := takesFrom(took.Args)
	if !put.Sent.Before(got(took)) || took.Failed || took.Reply == "(nil)" {
		return ""
	}
	for _, args := range append(slices.Clone(put.Queued), put.Args) {
		if from != "" && !surely && slices.Contains(args, from) {
			return from
		}
		for _, value := range args[min(1, len(args)):] {
			switch {
			case len(value) < leastToken:
			case took.Message && slices.Contains(took.Args, value):
				return took.Args[len(took.Args)-2]
			case !took.Message && strings.Contains(took.Reply, inReply(value)):
				return from
			}
		}
	}
	return ""
}

// inReply returns a value as the text of a reply has it, without what may be cut off there.
func inReply(value string) string {
	const most = 40 // fewer bytes than such a text has
	if len(value) > most {
		value = strings.ToValidUTF8(value[:most], "")
	}
	return strings.Trim(strconv.Quote(value), `"`)
}

// takesFrom returns the key from which a command takes an element, "" if it takes none.
func takesFrom(args []string) string {
	at := 0
	switch verb := strings.ToLower(strings.Join(args[:min(1, len(args))], "")); verb {
	case "lpop", "rpop", "blpop", "brpop", "lmove", "blmove", "rpoplpush", "brpoplpush", "spop", "getdel",
		"zpopmin", "zpopmax", "bzpopmin", "bzpopmax":
		at = 1
	case "lmpop", "zmpop":
		at = 2
	case "blmpop", "bzmpop":
		at = 3
	case "xread", "xreadgroup":
		at = 1 + slices.IndexFunc(args, func(arg string) bool { return strings.EqualFold(arg, "streams") })
	case "xautoclaim", "xclaim":
		at = 1
	}
	if at == 0 || at >= len(args) {
		return ""
	}
	return args[at]
}
