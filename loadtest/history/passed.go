package history

// An instance may pass a lock on, from order to order. Then they have one owner token, and one takes the lock and
// another removes it: all that they sent counts as sent by one.

// maxTakes bounds the commands of one owner that are looked at. One whose orders take the lock often is no owner.
const maxTakes = 100

// An owner is one or several orders of an instance with one owner token.
type owner struct{ instance, token string }

// A passedRemoval is the removal of a lock that its order did not take itself.
type passedRemoval struct {
	op     *Op
	cmd    *Command
	number int // in Timeline.Removals
}

// leases are those that orders show, by the order. Copies of an answer that other orders got show none.
type leases map[string]*Lease

func (t *Timeline) leases() leases {
	all := leases{}
	for i := range t.cell.Ops {
		if op := &t.cell.Ops[i]; op.For == "" {
			all[op.Order] = op.Lease
		}
	}
	return all
}

// ownerOf returns in whose name an order had its last lock, and since when: an order that shows no lease had that of
// the order that sold for it. An owner without a token is not known.
func (all leases) ownerOf(op *Op) (o owner, since Instant) {
	l := op.Lease
	if l == nil && op.SoldBy != "" {
		l = all[op.SoldBy]
	}
	if l == nil {
		return o, Never
	}
	return owner{op.Instance, l.Token}, l.AcquiredAt
}

// ownerOfRemoval returns in whose name a removal removed the last lock of its order. What the order removed before it
// had that lock was another one.
func (all leases) ownerOfRemoval(r passedRemoval) owner {
	o, since := all.ownerOf(r.op)
	if since.Known() && r.cmd.At < since {
		return owner{}
	}
	return o
}

// takes are the commands by which the orders of an owner took or renewed a lock.
type takes struct {
	commands []Command
	orders   []int // that sent them
}

func (t *takes) add(order int, op *Op) {
	for i := range op.Trace {
		if cmd := &op.Trace[i]; (cmd.Acquires() || cmd.Renews()) && len(t.orders) <= maxTakes {
			t.commands, t.orders = append(t.commands, *cmd), append(t.orders, order)
		}
	}
}

// findOwners finds out whose the locks were that orders removed without having taken them.
func (t *Timeline) findOwners() {
	if len(t.passed) == 0 {
		return
	}
	leases, of := t.leases(), map[owner]*takes{}
	for _, r := range t.passed {
		if o := leases.ownerOfRemoval(r); o.token != "" {
			of[o] = &takes{}
		}
	}
	for i := range t.cell.Ops {
		op := &t.cell.Ops[i]
		if o, _ := leases.ownerOf(op); of[o] != nil && op.For == "" {
			of[o].add(i, op)
		}
	}
	for _, r := range t.passed {
		takes := of[leases.ownerOfRemoval(r)]
		if takes == nil || len(takes.orders) > maxTakes {
			continue
		}
		if last, known := ownedBefore(takes.commands, r.cmd); known {
			removal := &t.Removals[r.number]
			removal.Of, removal.Owned = takes.orders[last], takes.commands[last].End
		}
	}
}
