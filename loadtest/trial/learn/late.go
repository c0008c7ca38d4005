package learn

import (
	"strconv"
	"time"

	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// Some shops send a command of an order long after its answer, from a timer. It names no order, and may arrive while
// another one is at work, so the trial learns how long after its order it comes.

// lateWithin bounds how late a timer may be.
const lateWithin = time.Second

// learnLate learns which commands each order sends long after its answer: those that come once after an order, after
// about the same time for two of three orders. What comes again is a thread's that works for none.
func learnLate(b *record.Bench) error {
	var before map[sale.Kind]sale.LateCommand
	for i := range 3 {
		b.Begin("", "")
		o, err := b.Plain("late-"+strconv.Itoa(i), shop.AtA)
		if err != nil {
			return err
		}
		<-o.Done()
		b.SleepUntil(o.Over.Add(lateWithin))
		if len(lateOf(b, o)) == 0 {
			return nil
		}
		b.SleepUntil(o.Over.Add(2 * lateWithin))
		late := lateOf(b, o)
		for kind, now := range late {
			if was := before[kind]; isLike(now, was) {
				b.Passport.Late[kind] = sale.LateCommand{After: min(now.After, was.After), Only: now.Only && was.Only}
			}
		}
		if before = late; len(b.Passport.Late) > 0 {
			return nil
		}
	}
	return nil
}

// isLike reports whether the commands of two orders came once, after about the same time.
func isLike(x, y sale.LateCommand) bool {
	return x.After > 0 && y.After > 0 && (x.After-y.After).Abs() < record.AboutTheSame
}

// lateOf returns the commands on data that came long after the answer to the only order so far, and were not sent by
// then. One that came several times, or too late, has no time.
func lateOf(b *record.Bench, o *shop.Order) map[sale.Kind]sale.LateCommand {
	late, early := map[sale.Kind]sale.LateCommand{}, map[sale.Kind]bool{}
	end := o.Over
	for _, c := range b.SentBy(o.At) {
		kind := sale.KindOf(&c.Seen)
		after := c.Came.Sub(end)
		switch _, again := late[kind]; {
		case !b.Pair.Ledger.OnData(c.Args):
		case after < record.LateAfter:
			early[kind], end = true, record.Later(end, c.Delivered)
		case again || after > lateWithin:
			late[kind] = sale.LateCommand{}
		default:
			late[kind] = sale.LateCommand{After: after, Only: !early[kind]}
		}
	}
	return late
}
