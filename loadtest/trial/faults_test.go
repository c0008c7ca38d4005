package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/sale"
)

// A lock whose expiry is in its value has a lease.
func TestLeaseInValue(t *testing.T) {
	p := &sale.Passport{Facts: history.Facts{Locks: []string{"lock"}, Kind: "zset", InValue: 5 * time.Second,
		Patience: time.Second}, ReleaseVerbs: []string{"zrem"}}
	assert.Contains(t, p.String(), "; lease 5s, kept in its score; ")
	assert.Equal(t, "v2", p.Closest())
	assert.Equal(t, "the lease is in the lock's score, and the trial cannot expire it; "+aLongReply(p), aTTL(p))
	assert.Contains(t, aLongReply(p), "a lease lasts 5s")
	p.Patience = 0
	assert.Empty(t, aTTL(p), "the trial waits for it")
	p.Patience = time.Second
	assert.Empty(t, (&fault{}).aShortLease(p))
	p.Kind, p.InValue = "string", time.Hour
	assert.Contains(t, (&fault{}).aShortLease(p), "a lease lasts 1h0m0s")
	assert.Contains(t, p.String(), ", kept in its value; ")
}

// Locks of different customers are no defect: the trial has not shown that two of their orders compete.
func TestPassportOfLocksOfDifferentCustomers(t *testing.T) {
	p := &sale.Passport{Facts: history.Facts{PerCustomer: true, LockFree: true}}
	assert.Equal(t, "no lock that two orders share: orders of different customers do not compete: use a fixed customer "+
		"and --units 1; only the stock is judged; the write depends on the stock's current value; closest rung: v17",
		p.String())
	assert.Equal(t, "orders of different customers do not compete: use a fixed customer and --units 1", aLock(p))
	p.Lost = true
	lost := "the lock's key contains a value of the order: customers do not compete for it, and the stock is for all; " +
		"leave the customer out of the key"
	assert.Contains(t, p.String(), "no lock that two orders share: "+lost)
	assert.Equal(t, lost, aLock(p))
}

// A key of an order's own is a lock only if the trial has seen that it protects too little.
func TestPassportOfKeysOfOrdersOwn(t *testing.T) {
	p := &sale.Passport{Own: "order"}
	assert.Equal(t, "no lock: each order has a key of its own, which keeps no order out; only the stock is judged; "+
		"closest rung: v0", p.String())
	p.Unseen, p.LockFree = true, true
	assert.Equal(t, "two orders share a lock, but the trial does not know its keys: only the stock is judged", p.String())
	assert.Equal(t, "two orders share a lock, but the trial does not know its keys", aLock(p))
	assert.Equal(t, "v4", p.Closest(), "its lease may expire")
}

// No cell waits for a lease of hours. Crowds and after-release wait for none.
func TestLongLeaseIsNotWaitedFor(t *testing.T) {
	p := &sale.Passport{Facts: history.Facts{TTL: 2000 * time.Second}}
	assert.Contains(t, (&fault{}).aShortLease(p), "a lease lasts 33m20s")
	assert.Empty(t, (&fault{line: "crowd-a"}).aShortLease(p))
	for _, f := range faultsFor(p) {
		if f.name == "after-release" {
			assert.Empty(t, f.aShortLease(p))
		}
	}
	assert.Empty(t, (&fault{}).aShortLease(&sale.Passport{Facts: history.Facts{TTL: 30 * time.Second}}))
}

// The error with which a Redis refuses a command depends on what the command does.
func TestErrorsOfRedis(t *testing.T) {
	p := &sale.Passport{Acquires: forge.Shapes("set lock"), Writes: forge.Shapes("set stock")}
	for shape, code := range map[string]string{
		"set lock": "READONLY", "set stock": "OOM", "get stock": "LOADING", "eval lock": "LOADING",
	} {
		assert.Equal(t, code, codeOf(refusal(p, &sale.Step{Shape: forge.Shape(shape)})), shape)
	}
}

// Why an order did not acquire the lock although the lease of its holder should have expired.
func TestReasonWhyLockIsKept(t *testing.T) {
	p := &sale.Passport{}
	assert.Equal(t, "orders of one instance may queue behind each other, or their commands on one connection",
		whyKept(p, true))
	assert.Equal(t, "it outlived its lease", whyKept(p, false))
	for _, atSame := range []bool{true, false} {
		assert.Equal(t, cause.Asleep, whyKept(&sale.Passport{Facts: history.Facts{Messages: true}}, atSame))
		renewed := &sale.Passport{Facts: history.Facts{Every: time.Second, Messages: true}}
		assert.Equal(t, "it is renewed until then", whyKept(renewed, atSame))
	}
}
