package trial

import (
	"fmt"
	"net/http"

	"stockapi/loadtest/history"
)

// learnSoldOut sends an order to an empty shelf at a, and notes how it is refused. It fails if that is answered like a
// sale: a trial could not tell them apart. Close the bench: some shops remember that all is sold.
func (b *bench) learnSoldOut() error {
	b.begin(fault{})
	if err := b.put(0); err != nil {
		return err
	}
	o := b.send("empty", atA)
	wait(o, b.patience())
	o.HangUp()
	b.Quiet(b.ctx)
	writes, _, err := b.ledger.Writes(b.ctx)
	if err != nil {
		return err
	}
	b.passport.SoldOut, err = b.answerOfEmpty(o, b.ofShop(writes[b.before:]), b.byOrder()[o])
	return err
}

// answerOfEmpty returns the answer to an order of an empty shelf that says so, nil if it may say something else: that
// the lock is taken, or that too many orders come.
func (b *bench) answerOfEmpty(o *order, writes []written, commands []observation) (*history.Answer, error) {
	took := len(writes) > 0 && !writes[len(writes)-1].isBack()
	asked := false
	for _, d := range effectsOf(commands) {
		asked = asked || d.Acquires()
	}
	switch {
	case o.Op.Outcome == history.Sold && !took && !b.passport.Elsewhere:
		return nil, fmt.Errorf("%w: an order of an empty shelf was answered %d %s like a sale: tell what the body of a sale "+
			"matches: --sold", errShop, o.Op.Status, o.Op.Detail)
	case o.Op.Outcome != history.Busy, o.Op.Status == http.StatusTooManyRequests, asked && tookAt(commands).IsZero():
		return nil, nil
	}
	return &history.Answer{Status: o.Op.Status, Body: o.Op.Detail}, nil
}
