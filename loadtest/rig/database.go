package rig

import (
	"slices"
	"sync"
	"time"

	"stockapi/loadtest/cluster"
)

// A Database is the link of one instance to its database. Bytes pass, are held and are lost there, and are never
// parsed: any protocol will do in which a client asks and the server answers.
//
// A request is all that a client sends on a connection until the server answers, in one piece or in many; a reply is
// all that follows from the server until the client sends again. What a server says before the first request is none,
// nor what it says while a request is held.
//
// The requests of an order are numbered from 1, over all connections, as they begin; a reply has the number of its
// request. A connection that the pattern calls noisy has no numbers.
type Database struct {
	*cluster.Link

	mu      sync.Mutex
	passed  bool
	log     []*Piece
	conns   map[int]*connection
	pattern Pattern
	orders  int // how many have begun
	order   int // the one that is open, or 0
	number  int // of its last request
	traps   []*Trap
}

// A Piece is a request or a reply.
type Piece struct {
	Conn   int // numbered from 1, in the order in which they open
	Order  int // in which the request began; 0: in none
	Number int // of the request in its order; 0: it has none
	Reply  bool

	Began    time.Time // when its first bytes came
	PassedOn time.Time // when they were passed on; zero while they are held, or if they are lost
}

// A connection is what is known of one that is open.
type connection struct {
	request, reply *Piece    // the last request, and its reply
	asks           bool      // more bytes of the client are of that request
	asked          time.Time // when the last of them were passed on
}

// NewDatabase returns a link to the database at a host:port. Close it.
func NewDatabase(upstream string) (d *Database, err error) {
	d = &Database{conns: map[int]*connection{}}
	d.Link, err = cluster.NewLink(upstream, d.tap)
	return d, err
}

// Passed reports whether a byte has come, in either direction.
func (d *Database) Passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

// BeginOrder opens an order, and returns its number, from 1. What a client sends from now on is a new request, also
// where the last one has no reply: MySQL answers some commands with nothing, such as the end of a prepared statement. A
// request that is held goes on when it is let go.
func (d *Database) BeginOrder() (order int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.orders++
	d.order, d.number = d.orders, 0
	d.breakOff()
	return d.order
}

// EndOrder ends the order that is open. What begins from now on, until another one is opened, is of none, and its
// connection is taken for noisy: leave the instance a moment after its answer to put its things in order.
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

// isHeld reports whether the request is held, or its reply.
func (c *connection) isHeld() bool {
	return c.request.PassedOn.IsZero() || c.reply != nil && c.reply.PassedOn.IsZero()
}

// Since returns what has begun since then.
func (d *Database) Since(begun time.Time) (pieces []Piece) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, _ := slices.BinarySearchFunc(d.log, begun, func(p *Piece, t time.Time) int { return p.Began.Compare(t) })
	for _, p := range d.log[from:] {
		pieces = append(pieces, *p)
	}
	return pieces
}

// Follow sets the pattern of the instance's sales: its noisy connections have no numbers from now on, and nobody waits
// for a reply to what plain sales get none to.
func (d *Database) Follow(p Pattern) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pattern = p
}

// Waiting reports whether the server has had a request for that long and has not answered it, as while another
// transaction has its row locked.
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

// tap is the link's.
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

// sent notes bytes of a client.
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

// answered notes bytes of a server.
func (d *Database) answered(conn int, c *connection) (hold <-chan bool) {
	if c.request == nil || c.request.PassedOn.IsZero() || c.reply != nil {
		return nil
	}
	c.reply = &Piece{Conn: conn, Order: c.request.Order, Number: c.request.Number, Reply: true}
	return d.begin(c.reply)
}

// begin logs a piece, and passes it on unless there is a trap for it.
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

// passOn notes that the first bytes of a piece are passed on.
func (d *Database) passOn(p *Piece) {
	p.PassedOn = time.Now()
	if c := d.conns[p.Conn]; p.Reply {
		c.asks = false
	} else {
		c.asked = p.PassedOn
	}
}
