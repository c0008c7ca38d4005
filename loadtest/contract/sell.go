package contract

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// wait bounds the wait for a lock that is free, or that the order before has just released.
	wait = 5 * time.Second
	// atOnce is the number of orders sent at once, so that one finds the lock taken; work is the time that each holds it.
	atOnce = 4
	work   = 50 * time.Millisecond
)

// sell buys, asks for more than there is, asks for the outcome of an order, and sends several orders at once.
func (c *checker) sell(ctx context.Context) {
	one := c.order(ctx, c.Product+"-one", 1, wait, 0)
	if one.status != http.StatusOK || one.err != nil {
		c.judge(sale, one, http.StatusOK)
		return // the checks below need a sale
	}
	wrong := c.receipt(ctx, one, c.Product+"-one", 1, initial)
	two := c.order(ctx, c.Product+"-two", 2, wait, 0)
	wrong = append(wrong, c.secondSale(ctx, one, two)...)
	c.judge(sale, one, http.StatusOK, wrong...)
	c.refused(ctx)
	c.recalled(ctx, two)
	c.contended(ctx)
}

// secondSale says what is wrong with a second sale, of two units.
func (c *checker) secondSale(ctx context.Context, one, two answer) []string {
	if two.err != nil || two.status != http.StatusOK {
		return []string{"a second order, for 2 units: " + two.describe()}
	}
	wrong := c.receipt(ctx, two, c.Product+"-two", 2, initial-1)
	for _, u := range units(two) {
		if slices.Contains(units(one), u) {
			wrong = append(wrong, fmt.Sprintf("unit %d was sold to both of two orders, one after the other", u))
		}
	}
	return wrong
}

// receipt says what is wrong with the answer to an order, given the stock before it.
func (c *checker) receipt(ctx context.Context, a answer, id string, quantity, before int64) []string {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if order := a.text("order"); order != "" && order != id {
		add("order is %q, but X-Request-ID was %q", order, id)
	}
	if n := a.whole("quantity"); n >= 0 && n != quantity {
		add("quantity is %d, but %d was ordered", n, quantity)
	}
	if us := units(a); us != nil && !slices.Equal(us, upTo(before, quantity)) {
		add("units are %v, but of %d they are %v", us, before, upTo(before, quantity))
	}
	if n := a.whole("left"); n >= 0 && n != before-quantity {
		add("left is %d, but should be %d - %d", n, before, quantity)
	}
	if n := c.stock(ctx).whole("quantity"); n >= 0 && n != before-quantity {
		add("%d were left and %d ordered, but then GET /stock reports %d", before, quantity, n)
	}
	return slices.Concat(wrong, times(a), seller(a))
}

// seller says what is wrong with the order that an answer names as the one that sold for it. A check sends one order
// after the other.
func seller(a answer) []string {
	if by := a.text("sold_by"); by != "" {
		return []string{fmt.Sprintf("sold_by is %q, but no other order of the product was in flight", by)}
	}
	return nil
}

// times says what is wrong with the times of a lease.
func times(a answer) []string {
	from, err1 := time.Parse(time.RFC3339Nano, a.text("lease.acquired_at"))
	to, err2 := time.Parse(time.RFC3339Nano, a.text("lease.released_at"))
	switch {
	case err1 != nil || err2 != nil:
		return nil
	case to.Before(from):
		return []string{"lease.released_at lies before lease.acquired_at"}
	case from.Nanosecond() == 0 && to.Nanosecond() == 0:
		return []string{"the times of the lease are whole seconds: shorter overlaps do not show"}
	}
	return nil
}

// units returns the serial numbers that an answer names; nil if it names none.
func units(a answer) []int64 {
	values, is := find(a.doc, "units")[0].([]any)
	if !is {
		return nil
	}
	us := []int64{}
	for _, v := range values {
		us = append(us, asWhole(v))
	}
	slices.Sort(us)
	return us
}

// upTo returns the serial numbers of that many units up to last.
func upTo(last, quantity int64) []int64 {
	var us []int64
	for u := last - quantity + 1; u <= last; u++ {
		us = append(us, u)
	}
	return us
}

// refused orders more than there is.
func (c *checker) refused(ctx context.Context) {
	a := c.order(ctx, c.Product+"-many", initial, wait, 0)
	var wrong []string
	if id := a.text("order"); id != "" && id != c.Product+"-many" {
		wrong = append(wrong, fmt.Sprintf("order is %q, but X-Request-ID was %q", id, c.Product+"-many"))
	}
	if outcome := a.text("outcome"); outcome != "" && outcome != "not-sold" {
		wrong = append(wrong, fmt.Sprintf("outcome is %q and not \"not-sold\"", outcome))
	}
	if n := c.stock(ctx).whole("quantity"); n >= 0 && n != initial-3 {
		wrong = append(wrong, fmt.Sprintf("it took %d units all the same", initial-3-n))
	}
	c.judge(refusal, a, http.StatusConflict, append(wrong, seller(a)...)...)
}

// recalled asks for the outcome of an order, and of one that was never sent.
func (c *checker) recalled(ctx context.Context, receipt answer) {
	a := c.ask(ctx, http.MethodGet, "/orders/"+c.Product+"-two", "", nil)
	var wrong []string
	if outcome := a.text("outcome"); outcome != "" && outcome != "sold" {
		wrong = append(wrong, fmt.Sprintf("outcome is %q of an order that was sold", outcome))
	}
	if us := units(a); us != nil && !slices.Equal(us, units(receipt)) {
		wrong = append(wrong, fmt.Sprintf("units are %v, but the answer to the order had %v", us, units(receipt)))
	}
	if never := c.ask(ctx, http.MethodGet, "/orders/"+c.Product+"-never", "", nil); never.status != http.StatusNotFound {
		wrong = append(wrong, "for an order that was never sent it "+never.describe())
	}
	c.judge(recall, a, http.StatusOK, append(wrong, seller(a)...)...)
}

// contended sends several orders at once that do not wait. What became of each of them has to be clear.
func (c *checker) contended(ctx context.Context) {
	answers := make([]answer, atOnce)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = c.order(ctx, fmt.Sprintf("%s-crowd-%d", c.Product, i), 1, 0, work) })
	}
	all.Wait()
	var locked *answer
	for i, a := range answers {
		switch {
		case a.status == http.StatusLocked && a.err == nil:
			locked = &answers[i]
		case a.err == nil && (a.status == http.StatusOK || a.status/100 == 4 || a.text("outcome") == "not-sold"):
		default:
			c.wrong(busy, fmt.Sprintf("%d at once: %s", atOnce, a.describe()))
			return
		}
	}
	if locked == nil {
		why := fmt.Sprintf("of %d orders at once none found the lock taken", atOnce)
		c.Lines = append(c.Lines, Line{Route: busy, Unseen: why, Need: busy.Need})
		return
	}
	c.judge(busy, *locked, http.StatusLocked)
}
