package history

import "time"

// Client says how well a load generator did its part in a cell. A cell is a measurement of the service only if the
// generator kept up.
type Client struct {
	// Asked is how many requests it had to send, and Delivered how many it sent.
	Asked     int `json:"asked"`
	Delivered int `json:"delivered"`
	// Errors counts the reasons why requests were not sent.
	Errors map[string]int `json:"errors,omitempty"`
	// Loop is "closed" if the next request waits for the last answer, or "open" if requests fall due by a schedule.
	Loop string `json:"loop"`
	// AskedRate is the rate asked for in an open loop, and Rate the rate reached, in requests per second.
	AskedRate float64 `json:"asked_rate,omitempty"`
	Rate      float64 `json:"rate"`
	// Lag is how late requests were sent after they were due, at the 99th percentile.
	Lag time.Duration `json:"lag"`
	// Away is how long the generator was due to run but did not get a processor, in total, and Longest the longest such
	// stretch.
	Away    time.Duration `json:"away"`
	Longest time.Duration `json:"longest"`
	// Start is how long after the barrier the first requests of all workers had been sent.
	Start time.Duration `json:"start,omitempty"`
	// FromSent is the latency of the buyers, counted from when each request was sent. [Cell.Latency] counts from Due.
	FromSent Latency `json:"from_sent"`
}

// Coverage counts the evidence for the verdicts of a cell.
type Coverage struct {
	// Sales is how many sales were seen, in all phases.
	Sales int `json:"sales"`
	// Refusals is how many orders were told that the stock is too small, and Checked how many of these refusals were shown
	// to be possible.
	Refusals int `json:"refusals,omitempty"`
	Checked  int `json:"checked,omitempty"`
	// Leases is how many whole leases were seen, of so many expected.
	Leases   int `json:"leases,omitempty"`
	Expected int `json:"expected,omitempty"`
	// Resolution is the shortest overlap of two leases that would be noticed, whatever their instances, for nine leases of
	// ten.
	Resolution time.Duration `json:"resolution,omitempty"`
	// Rarer is the frequency per sale below which a fault may have been missed, with a confidence of 95 %.
	Rarer float64 `json:"rarer,omitempty"`
	// Resolved is how many orders' outcomes were known only when they were asked for later, and Unknown how many never
	// were.
	Resolved int `json:"resolved,omitempty"`
	Unknown  int `json:"unknown,omitempty"`
}
