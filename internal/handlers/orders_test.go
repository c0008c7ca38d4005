package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/lock"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
)

// newScripted returns the handler of a shop that sells by the test's function, and keeps that many outcomes.
func newScripted(most int, sell func(context.Context, sale.Order) (sale.Receipt, error)) http.Handler {
	f := &fakeShop{sell: sell}
	config := fakeConfig(f, "")
	config.Orders = most
	return New(f, f, config)
}

// buy sends an order of that name.
func buy(ctx context.Context, h http.Handler, id string) int {
	r, answer := request("POST /v4/decrease", "").WithContext(ctx), httptest.NewRecorder()
	r.Header.Set("X-Request-ID", id)
	h.ServeHTTP(answer, r)
	return answer.Code
}

// ask returns the answer to GET /orders/{order}.
func ask(t *testing.T, h http.Handler, id string) (outcome string, body map[string]any) {
	t.Helper()
	answer := newContract(t).call(t, h, request("GET /orders/"+id, ""))
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &body))
	if answer.Code == http.StatusNotFound {
		assert.Equal(t, "/problems/unknown-order", body["type"])
		return "forgotten", body
	}
	require.Equal(t, http.StatusOK, answer.Code)
	outcome, _ = body["outcome"].(string)
	return outcome, body
}

func receiptFor(o sale.Order, left int64, err error) (sale.Receipt, error) {
	r := sale.Receipt{Rung: "v4", Product: o.Product, Quantity: o.Quantity, Order: o.ID, Instance: "a"}
	if err == nil {
		r.Left, r.Units = left, sale.Units(left, o.Quantity)
	}
	return r, err
}

func TestOutcomesAreKept(t *testing.T) {
	for want, err := range map[string]error{
		"sold": nil, "refused": stock.ErrSoldOut, "busy": lock.ErrBusy, "unknown": stock.ErrUnknown,
		"not-sold": lock.ErrLost,
	} {
		h := newScripted(10, func(_ context.Context, o sale.Order) (sale.Receipt, error) {
			if err != nil {
				return receiptFor(o, 0, fmt.Errorf("in a test: %w", err))
			}
			return receiptFor(o, 83, nil)
		})
		buy(t.Context(), h, "mine")
		outcome, body := ask(t, h, "mine")
		assert.Equal(t, want, outcome)
		assert.Equal(t, []any{"mine", "10000", 1.0, "a"}, []any{body["order"], body["product"], body["quantity"],
			body["instance"]})
		if want == "sold" {
			assert.Equal(t, []any{[]any{84.0}, 83.0}, []any{body["units"], body["left"]})
		} else {
			assert.NotContains(t, body, "units", want)
			assert.NotContains(t, body, "left", want)
		}
	}
}

func TestOutcomeWhenTheClientHasGone(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	h := newScripted(10, func(ctx context.Context, o sale.Order) (sale.Receipt, error) {
		close(inside)
		<-ctx.Done() // its client has gone
		<-goOn
		return receiptFor(o, 83, nil) // the write was under way, and is seen through
	})
	ctx, leave := context.WithCancel(t.Context())
	var served sync.WaitGroup
	served.Go(func() { buy(ctx, h, "mine") })
	<-inside
	outcome, _ := ask(t, h, "mine")
	assert.Equal(t, "pending", outcome)
	leave()
	close(goOn)
	served.Wait()
	outcome, body := ask(t, h, "mine")
	assert.Equal(t, "sold", outcome)
	assert.Equal(t, []any{84.0}, body["units"])
}

// The outcome of an order that was served under another's lease names that order, whether it sold or was refused. Of
// two orders with one name it is unknown which is meant.
func TestAnOrderRemembersWhoSoldForIt(t *testing.T) {
	for want, err := range map[string]error{"sold": nil, "refused": stock.ErrSoldOut} {
		h := newScripted(10, func(_ context.Context, o sale.Order) (sale.Receipt, error) {
			receipt, err := receiptFor(o, 83, err)
			receipt.SoldBy = "first"
			return receipt, err
		})
		buy(t.Context(), h, "mine")
		outcome, body := ask(t, h, "mine")
		assert.Equal(t, []any{want, "first"}, []any{outcome, body["sold_by"]})
		buy(t.Context(), h, "mine")
		_, body = ask(t, h, "mine")
		assert.NotContains(t, body, "sold_by", want)
	}
}

// A broken connection is one that no answer can be written to.
type broken struct{ header http.Header }

func (b broken) Header() http.Header       { return b.header }
func (b broken) WriteHeader(int)           {}
func (b broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOutcomeWhenTheAnswerCannotBeWritten(t *testing.T) {
	h := newScripted(10, func(_ context.Context, o sale.Order) (sale.Receipt, error) { return receiptFor(o, 83, nil) })
	r := request("POST /v4/decrease", "")
	r.Header.Set("X-Request-ID", "mine")
	h.ServeHTTP(broken{http.Header{}}, r)
	outcome, _ := ask(t, h, "mine")
	assert.Equal(t, "sold", outcome)
}

func TestOutcomeOfAPanicIsUnknown(t *testing.T) {
	h := newScripted(10, func(context.Context, sale.Order) (sale.Receipt, error) { panic("in a test") })
	assert.Equal(t, http.StatusInternalServerError, buy(t.Context(), h, "mine"))
	outcome, _ := ask(t, h, "mine")
	assert.Equal(t, "unknown", outcome)
}

// Two orders of one name are never both reported as not sold if one of them may have sold.
func TestOutcomeOfANameUsedTwice(t *testing.T) {
	away := errors.New("away")
	for _, c := range []struct {
		first, second error
		want          string
	}{
		{nil, away, "unknown"}, {away, nil, "unknown"}, {nil, nil, "unknown"}, {stock.ErrUnknown, lock.ErrBusy, "unknown"},
		{away, lock.ErrBusy, "busy"}, {lock.ErrBusy, stock.ErrSoldOut, "refused"},
	} {
		errs := []error{c.first, c.second}
		h := newScripted(10, func(_ context.Context, o sale.Order) (sale.Receipt, error) {
			err := errs[0]
			errs = errs[1:]
			return receiptFor(o, 83, err)
		})
		buy(t.Context(), h, "mine")
		buy(t.Context(), h, "mine")
		outcome, body := ask(t, h, "mine")
		assert.Equal(t, c.want, outcome, "%v, then %v", c.first, c.second)
		assert.NotContains(t, body, "units")
	}
}

func TestOutcomesAreBounded(t *testing.T) {
	release := make(chan struct{})
	var held sync.WaitGroup
	held.Add(1)
	h := newScripted(3, func(_ context.Context, o sale.Order) (sale.Receipt, error) {
		if o.ID == "slow" {
			held.Done()
			<-release
		}
		return receiptFor(o, 83, nil)
	})
	var slow sync.WaitGroup
	slow.Go(func() { buy(t.Context(), h, "slow") })
	held.Wait()
	for i := range 10 {
		buy(t.Context(), h, fmt.Sprint("order-", i))
	}
	buy(t.Context(), h, "order-8") // used again, it is among the latest
	for i, want := range map[int]string{6: "forgotten", 7: "sold", 8: "unknown", 9: "sold"} {
		outcome, _ := ask(t, h, fmt.Sprint("order-", i))
		assert.Equal(t, want, outcome, i)
	}
	outcome, _ := ask(t, h, "slow")
	assert.Equal(t, "pending", outcome, "what is under way is not forgotten")
	close(release)
	slow.Wait()
	outcome, _ = ask(t, h, "slow")
	assert.Equal(t, "sold", outcome)
	outcome, _ = ask(t, h, "order-7")
	assert.Equal(t, "forgotten", outcome, "it was the oldest of three")
}

func TestOutcomesCanBeSwitchedOff(t *testing.T) {
	h := newScripted(0, func(_ context.Context, o sale.Order) (sale.Receipt, error) { return receiptFor(o, 83, nil) })
	buy(t.Context(), h, "mine")
	answer := serveTo(h, request("GET /orders/mine", ""))
	assert.Equal(t, http.StatusNotFound, answer.Code)
	assert.Contains(t, answer.Body.String(), "no-such-route")
}

func TestOrdersNamesAreBoundedAndItsRouteTakesNoParameters(t *testing.T) {
	h := newScripted(10, func(_ context.Context, o sale.Order) (sale.Receipt, error) { return receiptFor(o, 83, nil) })
	c := newContract(t)
	assert.Equal(t, http.StatusBadRequest, c.call(t, h, request("GET /orders/mine?x=1", "")).Code)
	answer := serveTo(h, request("GET /orders/"+strings.Repeat("x", 65), ""))
	assert.Equal(t, http.StatusBadRequest, answer.Code)
	r := request("GET /orders/mine", "")
	r.Host = "attacker.example"
	answer = serveTo(h, r)
	assert.Equal(t, http.StatusMisdirectedRequest, answer.Code)
}

func TestOutcomesOfReadsAreNotKept(t *testing.T) {
	h := newScripted(10, nil)
	r := request("GET /v10/stock/10000", "")
	r.Header.Set("X-Request-ID", "mine")
	h.ServeHTTP(httptest.NewRecorder(), r)
	outcome, _ := ask(t, h, "mine")
	assert.Equal(t, "forgotten", outcome)
}

// BenchmarkOrders compares serving an order with its outcome recorded and without.
//
//	go test -run '^$' -bench Orders ./internal/handlers
func BenchmarkOrders(b *testing.B) {
	for _, most := range []int{0, 10_000} {
		b.Run(fmt.Sprint(most), func(b *testing.B) {
			h := newScripted(most, func(_ context.Context, o sale.Order) (sale.Receipt, error) { return receiptFor(o, 83, nil) })
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				buy(b.Context(), h, fmt.Sprint("order-", i))
			}
		})
	}
}
