package stock

import (
	"context"
	"errors"
)

// A Kind names a way to sell from a shelf. The empty Kind is the naive one, which relies on the lock alone.
type Kind string

// The kinds. The stock is the same for all of them.
const (
	Naive       Kind = ""
	Fenced      Kind = "fenced"       // refuses a fencing token that is older than the newest one seen
	WriteFenced Kind = "write-fenced" // the same, but on write only, as often described, to show its gap
	CAS         Kind = "cas"          // writes only if no other order has written since the read
	Atomic      Kind = "atomic"       // reads and writes in one step
	Combined    Kind = "combined"     // as Fenced, with one read and one write for a batch of orders
)

// LockFree reports whether a shelf of this kind needs no lock around it.
func (k Kind) LockFree() bool { return k == CAS || k == Atomic }

// Commands lists the commands by which an order reads a shelf of this kind and writes it, as traces name them.
func (k Kind) Commands() []string {
	switch k {
	case Fenced, Combined:
		return []string{"eval:read", "eval:write"}
	case WriteFenced:
		return []string{"get/stock", "eval:write"}
	case CAS:
		return []string{"get/stock", "watch", "multi", "set/stock", "exec", "unwatch"}
	case Atomic:
		return []string{"eval:take"}
	case Naive:
	}
	return []string{"get/stock", "set/stock"}
}

// Seller returns the function that sells from a shelf of this kind.
func (s *Shelf) Seller(k Kind) Sell {
	switch k {
	case Naive:
		return sell(s.read, s.write)
	case Fenced:
		return sell(s.readFenced, s.writeFenced)
	case WriteFenced:
		return sell(s.read, s.writeFenced)
	case CAS:
		return s.sellCAS
	case Atomic:
		return s.sellAtomic
	case Combined:
		return s.sellCombined
	}
	return func(context.Context, Order) (int64, error) { return 0, errors.New("no shelf of kind " + string(k)) }
}
