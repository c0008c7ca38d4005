package rig

import (
	"slices"
	"sync"
	"time"

	"stockapi/loadtest/cluster"
)

// A Database is the link of one instance to its database. It passes, holds and loses bytes without parsing them, so it
// works for any request-response protocol.
//
// A request is everything that a client sends on a connection until the server answers; a reply is everything that the
// server sends after it until the client sends again. What a server sends before the first request, or while a request
// is held, is neither.
//
// The requests of an order are numbered from 1 across all connections, as they begin; a reply has the number of its
// request. Connections that the pattern calls noisy have no numbers.
type Database struct {
	*cluster.Link

	mu      sync.Mutex
	passed  bool
	log     []*Piece
	conns   map[int]*connection
	pattern Pattern
	orders  int // begun so far
	order   int // the open one, or 0
	number  int // of its last request
	traps   []*RequestTrap
}

// A Piece is a request or a reply.
type Piece struct {
	Conn   int // from 1, in the order in which they open
	Order  int // in which the request began; 0: none
	Number int // of the request in its order; 0: none
	Reply  bool

	Began    time.Time // when its first bytes arrived
	PassedOn time.Time // when they were passed on; zero while they are held, or if they are lost
}

// A connection is the state of an open connection.
type connection struct {
	request, reply *Piece    // the last request, and its reply
	asks           bool      // more bytes of the client belong to that request
	asked          time.Time // when its last bytes were passed on
}

// NewDatabase returns a link to the database at a host:port. Close it.
func NewDatabase(upstream string) (d *Database, err error) {
	d = &Database{conns: map[int]*connection{}}
	d.Link, err = cluster.NewLink(upstream, d.tap)
	return d, err
}

// Passed reports whether a byte has arrived, in either direction.
func (d *Database) Passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

// BeginOrder opens an order, and returns its number, from 1. The client's next bytes begin a new request, even where
// the last one has no reply: MySQL does not answer some commands, such as closing a prepared statement. A held request
// continues when it is released.
func (d *Database) BeginOrder() (order int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.orders++
	d.order, d.number = d.orders, 0
	d.breakOff()
	return d.order
}

// EndOrder ends the open order. Requests between orders make their connections noisy, so let the instance settle for a
// moment before the call.
func (d *Database) EndOrder() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.order = 0
	d.breakOff()
}

func (d *Database) breakOff() {
	for _, c := range d.conns {
		c.asks = c.asks && c.isHeld()
	}
}

// isHeld reports whether the request or its reply is held.
func (c *connection) isHeld() bool {
	return c.request.PassedOn.IsZero() || c.reply != nil && c.reply.PassedOn.IsZero()
}

// Since returns the pieces that have begun since that time.
func (d *Database) Since(begun time.Time) (pieces []Piece) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, _ := slices.BinarySearchFunc(d.log, begun, func(p *Piece, t time.Time) int { return p.Began.Compare(t) })
	for _, p := range d.log[from:] {
		pieces = append(pieces, *p)
	}
	return pieces
}

// Follow sets the pattern of the instance's sales: from now on noisy connections have no numbers, and requests without
// a reply in plain sales are not expected to get one.
func (d *Database) Follow(p Pattern) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pattern = p
}

// Waiting reports whether the server has left a request unanswered for at least that long, as when another transaction
// has locked the row.
func (d *Database) Waiting(least time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for conn, c := range d.conns {
		if c.request != nil && c.reply == nil && !c.isHeld() && time.Since(c.asked) >= least &&
			!d.pattern.Noisy[conn] && !d.pattern.isSilent(c.request.Number) {
			return true
		}
	}
	return false
}

// tap observes the link.
func (d *Database) tap(conn int, event cluster.Event) (hold <-chan bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch event {
	case cluster.ConnOpened:
		d.conns[conn] = &connection{}
	case cluster.ConnClosed:
		delete(d.conns, conn)
	case cluster.RequestBytes:
		d.passed = true
		return d.sent(conn, d.conns[conn])
	case cluster.ReplyBytes:
		d.passed = true
		return d.answered(conn, d.conns[conn])
	}
	return nil
}

// sent records bytes from the client.
func (d *Database) sent(conn int, c *connection) (hold <-chan bool) {
	if c.asks {
		c.asked = time.Now()
		return nil
	}
	p := &Piece{Conn: conn, Order: d.order}
	if d.order > 0 && !d.pattern.Noisy[conn] {
		d.number++
		p.Number = d.number
	}
	c.request, c.reply, c.asks = p, nil, true
	return d.begin(p)
}

// answered records bytes from the server.
func (d *Database) answered(conn int, c *connection) (hold <-chan bool) {
	if c.request == nil || c.request.PassedOn.IsZero() || c.reply != nil {
		return nil
	}
	c.reply = &Piece{Conn: conn, Order: c.request.Order, Number: c.request.Number, Reply: true}
	return d.begin(c.reply)
}

// begin logs a piece, and passes it on unless a trap is set for it.
func (d *Database) begin(p *Piece) (hold <-chan bool) {
	p.Began = time.Now()
	d.log = append(d.log, p)
	if t := d.trapFor(p); t != nil {
		t.spring(p)
		return t.decide
	}
	d.passOn(p)
	return nil
}

// passOn records that the first bytes of a piece are passed on.
func (d *Database) passOn(p *Piece) {
	p.PassedOn = time.Now()
	if c := d.conns[p.Conn]; p.Reply {
		c.asks = false
	} else {
		c.asked = p.PassedOn
	}
}
