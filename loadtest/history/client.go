package history

import (
	"fmt"
	"math"
	"time"
)

// Client describes the quality of the load in a cell. A cell measures the service only if the load generator kept up.
type Client struct {
	// Asked counts the requests that it had to send, and Delivered those that it sent.
	Asked     int `json:"asked"`
	Delivered int `json:"delivered"`
	// Errors counts the requests that were not sent, by reason.
	Errors map[string]int `json:"errors,omitempty"`
	// Loop is "closed" if the next request waits for the last answer, or "open" if requests fall due by a schedule.
	Loop string `json:"loop"`
	// AskedRate is the rate asked for in an open loop, and Rate the rate reached, in requests per second.
	AskedRate float64 `json:"asked_rate,omitempty"`
	Rate      float64 `json:"rate"`
	// Lag is the delay between due and sent, at the 99th percentile.
	Lag time.Duration `json:"lag"`
	// Away is the time for which the generator was due to run but got no processor, and Longest the longest such stretch.
	Away    time.Duration `json:"away"`
	Longest time.Duration `json:"longest"`
	// Start is the time from the barrier until the first requests of all workers had been sent.
	Start time.Duration `json:"start,omitempty"`
	// Overlapped counts the orders of a crowd of programs that were at work at the same time as another one; nil: the
	// crowd sent requests.
	Overlapped *int `json:"overlapped,omitempty"`
	// FromSent is the latency of the buyers, counted from when each request was sent. [Cell.Latency] counts from Due.
	FromSent Latency `json:"from_sent"`
}

// Coverage counts the evidence for the verdicts of a cell.
type Coverage struct {
	// Sales counts the sales that were seen, in all phases.
	Sales int `json:"sales"`
	// Refusals counts the orders refused for lack of stock, and Checked those of them that are proven right.
	Refusals int `json:"refusals,omitempty"`
	Checked  int `json:"checked,omitempty"`
	// Orders counts the buyers' orders, and Busy those that did not acquire the lock in time. Both are 0 unless stock was
	// left and no fault was injected.
	Busy   int `json:"busy,omitempty"`
	Orders int `json:"orders,omitempty"`
	// Leases counts the whole leases that were seen, Expected those that should have been seen.
	Leases   int `json:"leases,omitempty"`
	Expected int `json:"expected,omitempty"`
	// Shared counts the orders that were served under another order's lease, and so return none.
	Shared int `json:"shared,omitempty"`
	// Removals counts the locks that orders removed, and Judged those of them whose owner was judged. LostReleases counts
	// the releases without a reply, which may have removed a lock.
	Removals     int `json:"removals,omitempty"`
	Judged       int `json:"judged,omitempty"`
	LostReleases int `json:"lost_releases,omitempty"`
	// Resolution is the shortest overlap of two leases, on any instances, that would be noticed in nine cases of ten.
	Resolution time.Duration `json:"resolution,omitempty"`
	// Rarer is the frequency per sale below which a violation may have been missed, with a confidence of 95 %.
	Rarer float64 `json:"rarer,omitempty"`
	// Resolved counts the orders whose outcome became known only when it was looked up later, and Unknown those whose
	// outcome never did.
	Resolved int `json:"resolved,omitempty"`
	Unknown  int `json:"unknown,omitempty"`
}

// WereBusy returns the share of the orders that were busy, as part of a sentence, "" if none was.
func (v *Coverage) WereBusy() string {
	if v.Busy == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d orders busy though stock was left", v.Busy, v.Orders)
}

// WouldShow returns, as a sentence, how frequent a violation would have shown, "" if the sales are too few.
func (v *Coverage) WouldShow() string {
	if v.Rarer <= 0 || v.Rarer > 0.1 {
		return ""
	}
	return fmt.Sprintf("a violation in at least 1 of %.0f sales would have shown (95 %%)", math.Floor(1/v.Rarer+1e-9))
}
