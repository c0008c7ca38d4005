package history

// An instance may pass a lock on from order to order. Then the orders share an owner token, and one acquires the lock
// and another removes it: their commands count as those of one owner.

// maxTakes bounds the commands of one owner that are compared. An owner whose orders acquire the lock more often is
// ignored.
const maxTakes = 100

// An owner is one or several orders of an instance with one owner token.
type owner struct{ instance, token string }

// A passedRemoval is the removal of a lock that its order did not acquire itself.
type passedRemoval struct {
	op     *Op
	cmd    *Command
	number int // in Timeline.Removals
}

// leases are those that orders returned, by order. An answer that belongs to another order has none.
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

// ownerOf returns the owner of an order's last lock, and since when it held it. An order that returned no lease has
// its seller's owner. An owner without a token is unknown.
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

// ownerOfRemoval returns the owner of the lock that an order removed. If it removed the lock before it
// acquired its last one, that was another lock.
func (all leases) ownerOfRemoval(r passedRemoval) owner {
	o, since := all.ownerOf(r.op)
	if since.Known() && r.cmd.At < since {
		return owner{}
	}
	return o
}

// takes are the commands by which the orders of an owner acquired or renewed a lock.
type takes struct {
	commands []Command
	orders   []int // their senders
}

func (t *takes) add(order int, op *Op) {
	for i := range op.Trace {
		if cmd := &op.Trace[i]; (cmd.Acquires() || cmd.Renews()) && len(t.orders) <= maxTakes {
			t.commands, t.orders = append(t.commands, *cmd), append(t.orders, order)
		}
	}
}

// findOwners finds the owners of the locks that orders removed without having acquired them.
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
