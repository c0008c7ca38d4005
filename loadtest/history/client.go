package history

import "time"

// Client is what a load generator saw of itself during a cell. A cell is a measurement of the service only if the client
// was able to do its part.
type Client struct {
	// Asked is how many requests it was to send, and Delivered how many of them left it.
	Asked     int `json:"asked"`
	Delivered int `json:"delivered"`
	// Errors are what kept it from sending, each with how often.
	Errors map[string]int `json:"errors,omitempty"`
	// Loop is "closed", where the next request waits for the last answer, or "open", where it falls due by itself.
	Loop string `json:"loop"`
	// AskedRate and Rate are requests per second, asked for (in an open loop) and sent.
	AskedRate float64 `json:"asked_rate,omitempty"`
	Rate      float64 `json:"rate"`
	// Lag is by how much the requests were sent after they were due: 99 of 100 by less.
	Lag time.Duration `json:"lag"`
	// Away is how long the generator did not get the processor although it was due, and Longest the longest time at once.
	Away    time.Duration `json:"away"`
	Longest time.Duration `json:"longest"`
	// Start is how long after the barrier the first requests of all workers had been sent.
	Start time.Duration `json:"start,omitempty"`
	// FromSent is the latency over the buyers, counted from when each request was sent. [Cell.Latency] counts from Due.
	FromSent Latency `json:"from_sent"`
}

// Coverage is how much a verdict of a cell rests on.
type Coverage struct {
	// Sales is how many sales were seen, of all phases.
	Sales int `json:"sales"`
	// Refusals is how many orders were told that the stock does not suffice, and Checked of how many of them it is shown
	// that this can have been so.
	Refusals int `json:"refusals,omitempty"`
	Checked  int `json:"checked,omitempty"`
	// Leases is how many leases were seen from their beginning to their end, of so many expected.
	Leases   int `json:"leases,omitempty"`
	Expected int `json:"expected,omitempty"`
	// Resolution is the least overlap of two leases that would show, whatever instances they are of, for nine in ten of them.
	Resolution time.Duration `json:"resolution,omitempty"`
	// Rarer is the frequency below which a fault per sale may have been missed, with a confidence of 95 %.
	Rarer float64 `json:"rarer,omitempty"`
	// Resolved is how many orders told their outcome only when they were asked for, and Unknown how many never did.
	Resolved int `json:"resolved,omitempty"`
	Unknown  int `json:"unknown,omitempty"`
}
