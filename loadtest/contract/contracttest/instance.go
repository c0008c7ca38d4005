package contracttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Instance is one instance of a shop. It does all that the contract asks for. What a test sets bends one thing of it.
type Instance struct {
	*Store
	// Name, Clock and Rungs are what GET /rungs says.
	Name, Clock string
	Rungs       []string
	// Fenced has the lock give fencing tokens.
	Fenced bool

	// Now is its clock.
	Now func() time.Time
	// Sell serves an order, in place of [Instance.UnderLock].
	Sell func(*Order)
	// Tell changes an answer before it is sent. It may hold it up, too, and tell nothing.
	Tell func(*Order)
	// Count changes the answer of GET /stock; left is the true number.
	Count func(left int64) int64
	// Edit changes the JSON answer of any other route before it is sent, by its pattern.
	Edit map[string]func(doc map[string]any)
	// Without are routes that it does not have, by their pattern.
	Without []string
}

// NewInstance returns an instance, as it should be, with v4 and v17 to offer.
func NewInstance(store *Store, name string) *Instance {
	return &Instance{Store: store, Name: name, Clock: "the machine's", Rungs: []string{"v4", "v17"}, Now: time.Now}
}

// Handler serves the instance.
func (in *Instance) Handler() http.Handler {
	mux := http.NewServeMux()
	routes := map[string]http.HandlerFunc{
		"GET /livez":              func(http.ResponseWriter, *http.Request) {},
		"GET /readyz":             func(http.ResponseWriter, *http.Request) {},
		"GET /rungs":              in.rungs,
		"GET /stock/{product}":    in.getStock,
		"PUT /stock/{product}":    in.putStock,
		"DELETE /stock/{product}": func(_ http.ResponseWriter, r *http.Request) { in.Remove(r.PathValue("product")) },
		"DELETE /locks/{product}": func(http.ResponseWriter, *http.Request) {},
		"GET /metrics": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "stockapi_redis_commands_total 7")
		},
		"GET /orders/{order}":   in.getOrder,
		"POST /{rung}/decrease": in.decrease,
	}
	for _, pattern := range in.Without {
		delete(routes, pattern)
	}
	for pattern, handler := range routes {
		mux.HandleFunc(pattern, handler)
	}
	return mux
}

// write sends a document, edited.
func (in *Instance) write(w http.ResponseWriter, pattern string, status int, doc map[string]any) {
	if edit := in.Edit[pattern]; edit != nil {
		edit(doc)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

func (in *Instance) rungs(w http.ResponseWriter, _ *http.Request) {
	var rungs []any
	for _, number := range in.Rungs {
		rungs = append(rungs, map[string]any{"number": number, "available": true, "needs": []string{}})
	}
	in.write(w, "GET /rungs", http.StatusOK, map[string]any{
		"instance": in.Name, "clock": in.Clock, "now": in.Now().Format(time.RFC3339Nano), "build": "of a test",
		"rungs": rungs,
	})
}

func (in *Instance) getStock(w http.ResponseWriter, r *http.Request) {
	left, known := in.Left(r.PathValue("product"))
	if !known {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if in.Count != nil {
		left = in.Count(left)
	}
	in.write(w, "GET /stock/{product}", http.StatusOK, map[string]any{"product": r.PathValue("product"), "quantity": left})
}

func (in *Instance) putStock(w http.ResponseWriter, r *http.Request) {
	var s struct{ Quantity int64 }
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	in.Set(r.PathValue("product"), s.Quantity)
}

func (in *Instance) getOrder(w http.ResponseWriter, r *http.Request) {
	told, known := in.Recall(r.PathValue("order"))
	if !known {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	in.write(w, "GET /orders/{order}", http.StatusOK, told)
}
