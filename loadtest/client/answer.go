package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/history"
)

// An answer has every field of a sale.
type answer struct {
	Quantity int64    `json:"quantity"`
	Left     int64    `json:"left"`
	Units    []int64  `json:"units"`
	Instance string   `json:"instance"`
	Order    string   `json:"order"`
	Lease    *lease   `json:"lease"`
	SoldBy   string   `json:"sold_by"`
	WaitedMS float64  `json:"waited_ms"`
	Trace    []traced `json:"trace"`
	// Items is a list of item if several products were ordered. It is not in the contract, so it may be any JSON.
	Items json.RawMessage `json:"items"`
}

// An item is the part of a sale of several products that concerns one of them.
type item struct {
	Product  string  `json:"product"`
	Quantity int64   `json:"quantity"`
	Left     int64   `json:"left"`
	Units    []int64 `json:"units"`
}

// narrowTo reduces the answer to an order of several products to one of them.
func (a *answer) narrowTo(product string) {
	var items []item
	if json.Unmarshal(a.Items, &items) != nil {
		return
	}
	for _, i := range items {
		if i.Product == product {
			if i.Units != nil {
				a.Quantity, a.Left, a.Units = i.Quantity, i.Left, i.Units
			}
			return
		}
	}
	if slices.ContainsFunc(items, func(i item) bool { return i.Product != "" }) { // the units are of other products
		a.Quantity, a.Units = 0, nil
	}
}

// A problem is an RFC 9457 problem document with the service's own fields. Its "instance" would be a URI rather than a
// name.
type problem struct {
	Type     string   `json:"type"`
	Detail   string   `json:"detail"`
	Order    string   `json:"order"`
	Outcome  string   `json:"outcome"`
	Instance string   `json:"instance_name"`
	Lease    *lease   `json:"lease"`
	SoldBy   string   `json:"sold_by"`
	Trace    []traced `json:"trace"`
}

type lease struct {
	Token      string    `json:"token"`
	Fence      int64     `json:"fence"`
	AcquiredAt time.Time `json:"acquired_at"`
	ReleasedAt time.Time `json:"released_at"`
	Lost       bool      `json:"lost"`
}

type traced struct {
	Node  string    `json:"node"`
	Cmd   string    `json:"cmd"`
	Key   string    `json:"key"`
	At    time.Time `json:"at"`
	End   time.Time `json:"end"`
	Reply string    `json:"reply"`
	Err   string    `json:"err"`
}

// decoding is held while a large answer is decoded.
var decoding sync.Mutex

// Classify fills in the outcome and the receipt of an op, which already has its order, quantity and times. The status
// decides the outcome, and the body where the status leaves it open. If several products were ordered together, the op
// is about this product. Times are relative to start. All receipts are interpreted here, whichever program sent the
// order.
func Classify(op *history.Op, product string, start time.Time, status int, body []byte) {
	if len(body) >= largeBody {
		decoding.Lock()
		defer decoding.Unlock()
	}
	defer op.Bound()
	op.Status = status
	if status == http.StatusOK {
		readSale(op, product, start, body)
		return
	}
	var p problem
	_ = json.Unmarshal(body, &p) // anything else leaves type and outcome empty
	op.Outcome, op.Detail = outcome(status, p), p.describe(status)
	if p.Order != "" && p.Order != op.Order {
		op.Outcome, op.Detail, op.For = history.Unknown, "the answer is for another order, "+p.Order, p.Order
	}
	if p.Instance != "" {
		op.Instance = p.Instance
	}
	op.Lease, op.SoldBy, op.Trace = p.Lease.history(start), p.SoldBy, trace(start, p.Trace)
	if op.Lease != nil {
		op.Lease.Noticed = op.Outcome == history.NotSold && strings.TrimPrefix(p.Type, "/problems/") == "lease-lost"
	}
}

// outcome is the only table from answers to outcomes, except for 200.
func outcome(status int, p problem) history.Outcome {
	switch {
	case p.Outcome == string(history.Unknown):
		return history.Unknown
	case status == http.StatusConflict:
		return history.Refused
	case status == http.StatusLocked:
		return history.Busy
	case p.Outcome == string(history.NotSold), status/100 == 4:
		return history.NotSold
	default:
		// A 5xx other than "not-sold" may come from the service or from something in between: the outcome is open.
		return history.Unknown
	}
}

// readSale parses a 200. If it does not match the order, the outcome is unknown, but its units and the other order that
// it names are kept: two receipts for one unit are proof, whichever orders they belong to.
func readSale(op *history.Op, product string, start time.Time, body []byte) {
	var a answer
	op.Outcome = history.Unknown
	if err := history.ReadJSON(body, &a); err != nil {
		op.Detail = "200, but no sale: " + err.Error()
		return
	}
	if a.Instance != "" {
		op.Instance = a.Instance
	}
	a.narrowTo(product)
	op.Left, op.Units, op.WaitedMS = a.Left, a.Units, a.WaitedMS
	op.Lease, op.SoldBy, op.Trace = a.Lease.history(start), a.SoldBy, trace(start, a.Trace)
	if a.Order != op.Order {
		op.For = a.Order
	}
	switch {
	case a.Order == "":
		op.Detail = "200, but without the member order"
	case a.Order != op.Order:
		op.Detail = fmt.Sprintf("200, but for order %q", a.Order)
	case a.Units == nil:
		op.Detail = "200, but without the member units"
	case a.Quantity != op.Quantity || int64(len(a.Units)) != a.Quantity:
		op.Detail = fmt.Sprintf("200, but %d units for a quantity of %d", len(a.Units), op.Quantity)
	default:
		op.Outcome = history.Sold
	}
}

func (l *lease) history(start time.Time) *history.Lease {
	if l == nil || l.AcquiredAt.IsZero() {
		return nil
	}
	return &history.Lease{
		Token: l.Token, Fence: l.Fence, Lost: l.Lost,
		AcquiredAt: history.At(start, l.AcquiredAt), ReleasedAt: history.At(start, l.ReleasedAt),
	}
}

func trace(start time.Time, ts []traced) []history.Command {
	out := make([]history.Command, 0, len(ts))
	for _, t := range ts {
		out = append(out, history.Command{
			Node: t.Node, Cmd: strings.ToLower(t.Cmd), Key: t.Key, Reply: t.Reply, Err: t.Err,
			Source: history.SourceOf(strings.ToLower(t.Cmd), t.Err),
			At:     history.At(start, t.At), End: history.At(start, t.End),
		})
	}
	return out
}

// describe formats a failed answer as one line.
func describe(status int, body []byte) string {
	var p problem
	_ = json.Unmarshal(body, &p) // anything else is described by its status
	return p.describe(status)
}

func (p *problem) describe(status int) string {
	if p.Type == "" {
		return fmt.Sprintf("%d %s", status, http.StatusText(status))
	}
	text := fmt.Sprintf("%d %s", status, strings.TrimPrefix(p.Type, "/problems/"))
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	return history.Clip(text)
}
