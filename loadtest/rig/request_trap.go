package rig

import "slices"

// A RequestTrap catches a request to a database, or its reply, and everything after it in that direction of its
// connection.
type RequestTrap struct {
	of           *Database
	from, number int
	reply        bool

	caught chan struct{}
	piece  *Piece // that it has caught
	decide chan bool
}

// Trap sets a trap for a request, or for its reply, of an order or a later one, as [Database.BeginOrder] numbers them.
// Number counts requests from 1; 0 is the next one. A piece that has already begun is not caught: set the trap before
// the order is sent, or while an earlier piece is held.
func (d *Database) Trap(order, number int, reply bool) *RequestTrap {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &RequestTrap{of: d, from: order, number: number, reply: reply,
		caught: make(chan struct{}), decide: make(chan bool, 1)}
	d.traps = append(d.traps, t)
	return t
}

// NextOrder returns the number of the next order that is opened.
func (d *Database) NextOrder() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.orders + 1
}

// Caught implements [Trap].
func (t *RequestTrap) Caught() <-chan struct{} { return t.caught }

// Number returns the number of the caught request, or of the reply's.
func (t *RequestTrap) Number() int { return t.piece.Number }

// GoOn implements [Trap]. A request arrives even if its client has left. Bytes lost meanwhile, as by Cut, stay lost.
func (t *RequestTrap) GoOn() { t.end(true) }

// Lose implements [Trap].
func (t *RequestTrap) Lose() { t.end(false) }

func (t *RequestTrap) end(passes bool) {
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
func (d *Database) trapFor(p *Piece) *RequestTrap {
	i := slices.IndexFunc(d.traps, func(t *RequestTrap) bool {
		return t.piece == nil && p.Number > 0 && t.from <= p.Order && t.reply == p.Reply &&
			(t.number == p.Number || t.number == 0)
	})
	if i < 0 {
		return nil
	}
	return d.traps[i]
}

// spring records the piece that a trap has caught. The caller holds the database's lock.
func (t *RequestTrap) spring(p *Piece) {
	t.piece = p
	close(t.caught)
}
