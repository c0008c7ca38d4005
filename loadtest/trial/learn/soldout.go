package learn

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// learnSoldOut sends an order for an empty shelf to a, and records how it is refused, and whether it keeps its lock. It
// fails if the answer is like that of a sale, and the writes of the stock are not observed. Close the bench afterwards:
// some shops remember that they are sold out.
func learnSoldOut(b *record.Bench) error {
	b.Begin("", "")
	if err := errors.Join(b.Remove(), b.Pair.Put(0)); err != nil { // an earlier order may have lost its lock
		return err
	}
	o := b.Send("empty", shop.AtA)
	o.WaitFor(b.Passport.Limit())
	o.HangUp()
	b.Pair.Rig.Quiet(b.Pair.Context)
	took, err := tookFromEmpty(b)
	if err != nil {
		return err
	}
	commands := b.ByOrder()[o]
	refused := !o.Ended.IsZero() && o.Op.Outcome != history.Sold
	b.Passport.KeptSoldOut = refused && !record.AcquiredAt(commands).IsZero() && staysHeld(b)
	b.Passport.FreedTwice = slices.ContainsFunc(commands, func(c record.Observation) bool {
		return c.Did((*history.Command).GivesTooMuch)
	})
	b.Passport.SoldOut, err = answerOfEmpty(b, o, took, commands)
	if err == nil && b.Passport.ByWrites {
		b.Pair.Shop.Say("every answer looks like a sale: the writes of the stock decide")
	}
	return err
}

// soonFree is how long an order may keep its lock after its answer: some release it in the background.
const soonFree = time.Second

// staysHeld reports whether the lock, or a key of it, stays held for that time, or half its lease if that is shorter.
func staysHeld(b *record.Bench) bool {
	held, known := b.HeldFor(min(soonFree, b.Passport.Lease()/2), (*wire.Lock).Held,
		func(wire.KeyState) bool { return true })
	return known && held
}

// tookFromEmpty reports whether the order for an empty shelf took a unit, or may have.
func tookFromEmpty(b *record.Bench) (bool, error) {
	if b.Pair.Shop.IsElsewhere() {
		left, err := b.Pair.CountLeft()
		return b.Pair.Shop.Set == "" || left == nil || *left != 0, err
	}
	writes, _, err := b.Writes()
	return takesUnit(writes), err
}

// takesUnit reports whether writes of the stock take a unit, and do not put it back.
func takesUnit(writes []record.Written) bool {
	return len(writes) > 0 && !writes[len(writes)-1].IsBack()
}

// answerOfEmpty returns the sold-out answer, nil if it may mean something else: that the lock is taken, or that the
// rate is limited.
func answerOfEmpty(b *record.Bench, o *shop.Order, took bool, commands []record.Observation) (*history.Answer, error) {
	asked := false
	for _, d := range record.EffectsOf(commands) {
		asked = asked || d.Acquires()
	}
	switch {
	case o.Op.Outcome == history.Sold && !took && !b.Pair.Shop.IsElsewhere():
		b.Passport.ByWrites = true
		return nil, nil
	case o.Op.Outcome == history.Sold && !took:
		said := o.Op.Detail // by a program, with how it ended
		if o.Op.Status != 0 {
			said = o.Op.Answer() + " " + said
		}
		return nil, fmt.Errorf("%w: an order for an empty shelf was answered %s, like a sale: give what the body of a "+
			"sale matches: --sold; if no answer shows it, judge the lock alone: --set ': {n}', without --left", shop.ErrShop,
			said)
	case o.Op.Outcome != history.Busy, o.Op.Status == http.StatusTooManyRequests,
		asked && record.AcquiredAt(commands).IsZero():
		return nil, nil
	}
	return &history.Answer{Status: o.Op.Status, Body: o.Op.Detail}, nil
}
