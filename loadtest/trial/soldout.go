package trial

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// learnSoldOut sends an order for an empty shelf to a, and records how it is refused, and whether it keeps its lock. It
// fails if the answer is like that of a sale, and the writes of the stock are not observed. Close the bench afterwards:
// some shops remember that they are sold out.
func learnSoldOut(b *bench) error {
	b.begin("", "")
	if err := errors.Join(b.remove(), b.pair.Put(0)); err != nil { // an earlier order may have lost its lock
		return err
	}
	o := b.send("empty", shop.AtA)
	o.WaitFor(b.passport.Limit())
	o.HangUp()
	b.pair.Quiet(b.pair.Context)
	took, err := tookFromEmpty(b)
	if err != nil {
		return err
	}
	commands := b.byOrder()[o]
	refused := !o.Ended.IsZero() && o.Op.Outcome != history.Sold
	b.passport.KeptSoldOut = refused && !acquiredAt(commands).IsZero() && staysHeld(b)
	b.passport.FreedTwice = slices.ContainsFunc(commands, func(c observation) bool {
		return c.did((*history.Command).GivesTooMuch)
	})
	b.passport.SoldOut, err = answerOfEmpty(b, o, took, commands)
	if err == nil && b.passport.ByWrites {
		b.pair.Shop.Say("every answer looks like a sale: the writes of the stock decide")
	}
	return err
}

// soonFree is how long an order may keep its lock after its answer: some release it in the background.
const soonFree = time.Second

// staysHeld reports whether the lock, or a key of it, stays held for that time, or half its lease if that is shorter.
func staysHeld(b *bench) bool {
	held, known := b.heldFor(min(soonFree, b.passport.Lease()/2), (*wire.Lock).Held,
		func(wire.KeyState) bool { return true })
	return known && held
}

// tookFromEmpty reports whether the order for an empty shelf took a unit, or may have.
func tookFromEmpty(b *bench) (bool, error) {
	if b.pair.Shop.IsElsewhere() {
		left, err := b.pair.CountLeft()
		return b.pair.Shop.Set == "" || left == nil || *left != 0, err
	}
	writes, _, err := b.writes()
	return takesUnit(writes), err
}

// takesUnit reports whether writes of the stock take a unit, and do not put it back.
func takesUnit(writes []written) bool { return len(writes) > 0 && !writes[len(writes)-1].isBack() }

// answerOfEmpty returns the sold-out answer, nil if it may mean something else: that the lock is taken, or that the
// rate is limited.
func answerOfEmpty(b *bench, o *shop.Order, took bool, commands []observation) (*history.Answer, error) {
	asked := false
	for _, d := range effectsOf(commands) {
		asked = asked || d.Acquires()
	}
	switch {
	case o.Op.Outcome == history.Sold && !took && !b.pair.Shop.IsElsewhere():
		b.passport.ByWrites = true
		return nil, nil
	case o.Op.Outcome == history.Sold && !took:
		return nil, fmt.Errorf("%w: an order for an empty shelf was answered %d %s, like a sale: give what the body of a "+
			"sale matches: --sold; if no answer shows it, judge the lock alone: --set ': {n}', without --left", shop.ErrShop,
			o.Op.Status, o.Op.Detail)
	case o.Op.Outcome != history.Busy, o.Op.Status == http.StatusTooManyRequests, asked && acquiredAt(commands).IsZero():
		return nil, nil
	}
	return &history.Answer{Status: o.Op.Status, Body: o.Op.Detail}, nil
}
