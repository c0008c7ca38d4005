package rig

import "slices"

// A Trap holds one request of an order, or its reply, and everything after it in that direction of its connection.
type Trap struct {
	of            *Database
	order, number int
	reply         bool

	caught chan struct{}
	piece  *Piece // that it has caught
	decide chan bool
}

// Trap sets a trap for a request, or for its reply, of the order that was opened last. Number counts requests from 1; 0
// is the next one. A piece that has already begun is not caught: set the trap before the order is sent, or while an
// earlier piece is held. Release it.
func (d *Database) Trap(number int, reply bool) *Trap {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &Trap{of: d, order: d.orders, number: number, reply: reply,
		caught: make(chan struct{}), decide: make(chan bool, 1)}
	d.traps = append(d.traps, t)
	return t
}

// Caught is closed when the trap has caught its piece.
func (t *Trap) Caught() <-chan struct{} { return t.caught }

// Number returns the number of the caught request, or of the reply's.
func (t *Trap) Number() int { return t.piece.Number }

// Release passes on the held bytes, and removes the trap. A request arrives even if its client has left. Bytes lost
// meanwhile, as by Cut, stay lost.
func (t *Trap) Release() { t.end(true) }

// Lose drops the held bytes, closes the connection, and removes the trap.
func (t *Trap) Lose() { t.end(false) }

func (t *Trap) end(passes bool) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	i := slices.Index(t.of.traps, t)
	if i < 0 {
		return
	}
	t.of.traps = slices.Delete(t.of.traps, i, i+1)
	if t.piece == nil || t.of.conns[t.piece.Conn] == nil {
		return
	}
	if passes {
		t.of.passOn(t.piece)
	}
	t.decide <- passes
}

// trapFor returns the trap that was set for a piece, or nil.
func (d *Database) trapFor(p *Piece) *Trap {
	i := slices.IndexFunc(d.traps, func(t *Trap) bool {
		return t.piece == nil && p.Number > 0 && t.order == p.Order && t.reply == p.Reply &&
			(t.number == p.Number || t.number == 0)
	})
	if i < 0 {
		return nil
	}
	return d.traps[i]
}

// spring records the piece that a trap has caught. The caller holds the database's lock.
func (t *Trap) spring(p *Piece) {
	t.piece = p
	close(t.caught)
}
