// Package learn finds out what the lock of a shop is, by experiments: it sells, holds orders, and puts keys into states
// of its own. Which commands a sale consists of, and how it acquires and releases the lock, is then a function of three
// plain sales.
//
// Reading order: learn.go (all experiments), plain.go (plain sales) with first.go (what the first order shows),
// locks.go (which keys are the lock) with idle.go (which of them keep no order out), companion.go (what names its
// holder) and sharing.go (whether there is a lock that was not found), facts.go (how the lock is used), held.go and
// waiter.go (what two orders show that meet), soldout.go (the answer for an empty shelf). late.go learns commands that
// come from timers, request.go what is sent to a database, and count.go checks a stock that is counted elsewhere.
package learn
