package history

// An instance may pass a lock on, from order to order. Then they have one owner token, and one takes the lock and
// another removes it: all that they sent counts as sent by one.

// maxTakes bounds the commands of one owner that are looked at. One whose orders take the lock often is no owner.
const maxTakes = 100

// An owner is one or several orders of an instance with one owner token.
type owner struct{ instance, token string }

// passed collects the removals by orders that did not take the lock themselves.
type passed struct {
	removals []passedRemoval
	leases   map[string]*Lease // of the orders that those with commands name as the one that sold for them
}

// A passedRemoval is one of them, with the end of what its order says of its lease.
type passedRemoval struct {
	Command
	order  Op
	number int // in Timeline.Removals
}

func (p *passed) add(op *Op, cmd *Command, number int) {
	r := passedRemoval{*cmd, Op{Instance: op.Instance, SoldBy: op.SoldBy, Lease: op.Lease}, number}
	p.removals = append(p.removals, r)
}

// addLessor notes which order shows the lease of one that shows none: it is looked up when all are known.
func (p *passed) addLessor(op *Op) {
	if op.Lease != nil || op.SoldBy == "" {
		return
	}
	if p.leases == nil {
		p.leases = map[string]*Lease{}
	}
	p.leases[op.SoldBy] = nil
}

// ownerOf returns in whose name an order had its last lock, and since when. An owner without a token is not known.
func (p *passed) ownerOf(op *Op) (o owner, since Instant) {
	l := op.Lease
	if l == nil && op.SoldBy != "" {
		l = p.leases[op.SoldBy]
	}
	if l == nil {
		return o, Never
	}
	return owner{op.Instance, l.Token}, l.AcquiredAt
}

// owner returns in whose name a removal removed the last lock of its order. What the order removed before it had that
// lock was another one.
func (p *passed) owner(r *passedRemoval) owner {
	o, since := p.ownerOf(&r.order)
	if since.Known() && r.At < since {
		return owner{}
	}
	return o
}

// takes are the commands by which the orders of an owner took or renewed a lock.
type takes struct {
	commands []Command
	orders   []int32 // that sent them
}

func (t *takes) add(order int32, op *Op) {
	for i := range op.Trace {
		if cmd := &op.Trace[i]; (cmd.Acquires() || cmd.Renews()) && len(t.orders) <= maxTakes {
			t.commands, t.orders = append(t.commands, *cmd), append(t.orders, order)
		}
	}
}

// addPassed finds out whose the locks were that orders removed without having taken them. It reads all orders up to
// twice.
func (t *Timeline) addPassed(p *passed) {
	if len(p.removals) == 0 {
		return
	}
	if len(p.leases) > 0 {
		for _, op := range t.cell.All() {
			if _, named := p.leases[op.Order]; named && op.For == "" {
				p.leases[op.Order] = op.Lease
			}
		}
	}
	of := map[owner]*takes{}
	for i := range p.removals {
		if o := p.owner(&p.removals[i]); o.token != "" {
			of[o] = &takes{}
		}
	}
	if len(of) == 0 {
		return
	}
	for i, op := range t.cell.All() {
		if o, _ := p.ownerOf(op); of[o] != nil && op.For == "" {
			of[o].add(int32(i), op)
		}
	}
	for i := range p.removals {
		removal := &p.removals[i]
		takes := of[p.owner(removal)]
		if takes == nil || len(takes.orders) > maxTakes {
			continue
		}
		if last, known := ownedBefore(takes.commands, &removal.Command); known {
			r := &t.Removals[removal.number]
			r.Of, r.Owned = takes.orders[last], takes.commands[last].End
		}
	}
}
