package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/contract"
)

// contractOf asks a shop that is bent, or not.
func contractOf(t *testing.T, bend func(*instance), flags ...string) (code int, table string, shop *instance) {
	t.Helper()
	shop, _ = newShop()
	if bend != nil {
		bend(shop)
	}
	code, stdout, stderr := loadtest(t, append([]string{"contract", shop.serve(t) + "/"}, flags...)...)
	return code, stdout + stderr, shop
}

func TestContractOfAShopAsItShouldBe(t *testing.T) {
	code, table, shop := contractOf(t, nil)
	assert.Equal(t, asExpected, code, table)
	assert.NotContains(t, table, "missing")
	assert.NotContains(t, table, "wrong")
	assert.Regexp(t, `asked for v4 with product contract-[0-9a-f]{8}\n`, table, "the first that it lists")
	assert.Regexp(t, `(?m)^POST /v4/decrease: 200 +must +ok$`, table)
	assert.Regexp(t, `(?m)^POST /v4/decrease: 423 +may +(ok|not seen: .*)$`, table)
	assert.True(t, strings.HasSuffix(table, "\neverything needed is there\n"), table)
	assert.Empty(t, shop.products(), "it takes its product away again")

	_, table, _ = contractOf(t, nil, "--rung", "V17")
	assert.Contains(t, table, "POST /v17/decrease: 200")
}

// told has every order's answer edited.
func told(edit func(o *order)) func(*instance) {
	return func(in *instance) { in.tell = edit }
}

// without removes a member of every sale, or of its lease.
func without(object, name string) func(*instance) {
	return told(func(o *order) {
		doc := o.doc
		if object != "" {
			doc, _ = o.doc[object].(map[string]any)
		}
		delete(doc, name)
	})
}

// edited edits the answers of another route.
func edited(pattern string, edit func(doc map[string]any)) func(*instance) {
	return func(in *instance) { in.edit = map[string]func(map[string]any){pattern: edit} }
}

func lacking(patterns ...string) func(*instance) {
	return func(in *instance) { in.without = patterns }
}

func each(trace any, edit func(command map[string]any)) {
	commands, _ := trace.([]any)
	for _, c := range commands {
		edit(c.(map[string]any))
	}
}

func TestContractOfAShopThatLacksOneThing(t *testing.T) {
	cases := map[string]struct {
		bend func(*instance)
		code int
		want string
	}{
		"no livez": {lacking("GET /livez"), asExpected,
			`GET /livez .* missing: answered 404 .* connections are dialled`},
		"no readyz": {lacking("GET /readyz"), asExpected, `GET /readyz .* missing: `},
		"no rungs": {lacking("GET /rungs"), surprised,
			`GET /rungs +must +missing: answered 404 Not Found +no cell is run`},
		"no stock to set": {lacking("PUT /stock/{product}"), surprised,
			`PUT /stock/\{product\} +must +missing: answered 405`},
		"no stock to read": {lacking("GET /stock/{product}"), surprised,
			`GET /stock/\{product\} +must +missing: answered 405 .* stock is unknown`},
		"no sale": {lacking("POST /{rung}/decrease"), surprised, `decrease: 200 +must +missing: answered 404`},
		"no orders": {lacking("GET /orders/{order}"), asExpected,
			`GET /orders/\{order\} +may +missing: .* stays unknown`},
		"no metrics": {lacking("GET /metrics"), asExpected, `GET /metrics +may +missing: .* commands per sale`},
		"no locks to break": {lacking("DELETE /locks/{product}"), asExpected,
			`DELETE /locks/\{product\} +should +missing: .* stays`},
		"no stock to remove": {lacking("DELETE /stock/{product}"), asExpected,
			`DELETE /stock/\{product\} +should +missing: answered 405`},
		"no rung listed": {func(in *instance) { in.rungs = nil }, surprised,
			`GET /rungs +must +missing: rungs +no cell`},
		"rungs without names": {edited("GET /rungs", rungsWithout("number")), surprised,
			`missing: rungs\[\].number +no cell is run`},
		"one rung without a name": {edited("GET /rungs",
			func(doc map[string]any) { delete(doc["rungs"].([]any)[1].(map[string]any), "number") }),
			surprised, `missing: rungs\[\].number +no cell is run`},
		"none available": {edited("GET /rungs", rungsWithout("available")), surprised,
			`missing: rungs\[\].available .* not to be had`},
		"no name": {edited("GET /rungs", remove("instance")), asExpected,
			`GET /rungs +should +missing: instance .* put down to nobody`},
		"no clock": {edited("GET /rungs", remove("clock")), asExpected,
			`missing: clock .* times of two instances are not compared`},
		"no build": {edited("GET /rungs", remove("build")), asExpected,
			`GET /rungs +may +missing: build .* which build was measured`},
		"no quantity left": {edited("GET /stock/{product}", remove("quantity")), surprised,
			`missing: quantity +stock is unknown`},
		"quantity in words": {edited("GET /stock/{product}", func(doc map[string]any) { doc["quantity"] = "ten" }), surprised,
			`wrong: quantity is not a whole number`},
		"a stock of its own": {func(in *instance) { in.count = func(int64) int64 { return 7 } }, surprised,
			`wrong: 10 were put there, but it reports 7`},
		"no order": {without("", "order"), surprised,
			`decrease: 200 +must +missing: order +the sale proves nothing: stock`},
		"no quantity": {without("", "quantity"), surprised, `decrease: 200 +must +missing: quantity`},
		"no units":    {without("", "units"), surprised, `decrease: 200 +must +missing: units .* stock cannot be judged`},
		"no left":     {without("", "left"), asExpected, `decrease: 200 +may +missing: left`},
		"no seller":   {without("", "instance"), asExpected, `decrease: 200 +should +missing: instance .* behind a proxy`},
		"no lease": {without("", "lease"), asExpected,
			`decrease: 200 +should +missing: lease +exclusion cannot be judged`},
		"no beginning": {without("lease", "acquired_at"), asExpected,
			`missing: lease.acquired_at +exclusion cannot be judged`},
		"no end":   {without("lease", "released_at"), asExpected, `missing: lease.released_at +a lease without an end`},
		"no fence": {without("lease", "fence"), asExpected, `missing: lease.fence +fence cannot be judged`},
		"no trace": {without("", "trace"), asExpected,
			`decrease: 200 +should +missing: trace +own-release cannot be judged`},
		"a trace of what?": {traceWithout("key"), asExpected, `missing: trace\[\].key +own-release cannot be judged`},
		"a trace of when?": {traceWithout("at"), asExpected, `missing: trace\[\].at +own-release cannot be judged`},
		"no replies": {traceWithout("reply"), asExpected,
			`missing: trace\[\].reply +the command counts as one that did nothing`},
		"no word of why": {without("", "detail"), asExpected, `decrease: 409 +may +missing: detail`},
		"429 in place of 423": {told(func(o *order) {
			if o.status == http.StatusLocked {
				o.status = http.StatusTooManyRequests
			}
		}), asExpected, `decrease: 423 +may +not seen: of 4 orders at once none found the lock taken`},
		"a refusal without a body": {told(func(o *order) {
			if o.status == http.StatusConflict {
				o.doc = nil
			}
		}), asExpected, `decrease: 409 +may +missing: detail`},
		"nobody refuses": {without("", "instance_name"), asExpected, `decrease: 409 +should +missing: instance_name`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, table, _ := contractOf(t, c.bend)
			assert.Regexp(t, c.want, table)
			assert.Equal(t, c.code, code, table)
		})
	}
}

func remove(name string) func(map[string]any) {
	return func(doc map[string]any) { delete(doc, name) }
}

func rungsWithout(name string) func(map[string]any) {
	return func(doc map[string]any) { each(doc["rungs"], remove(name)) }
}

func traceWithout(name string) func(*instance) {
	return told(func(o *order) { each(o.doc["trace"], remove(name)) })
}

func set(name string, value any) func(*instance) {
	return told(func(o *order) {
		if o.status == http.StatusOK {
			o.doc[name] = value
		}
	})
}

// What is there and is not as it has to be misleads: that is worse than nothing.
func TestContractOfAShopThatSaysOneThingWrong(t *testing.T) {
	backwards := func(o *order) {
		if l := o.lease; l != nil {
			l["acquired_at"], l["released_at"] = "2026-01-01T00:00:02.5Z", "2026-01-01T00:00:01.5Z"
		}
	}
	seconds := func(o *order) {
		if l := o.lease; l != nil {
			l["acquired_at"], l["released_at"] = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
		}
	}
	status := func(from, to int) func(*instance) {
		return told(func(o *order) {
			if o.status == from {
				o.status = to
			}
		})
	}
	cases := map[string]struct {
		bend func(*instance)
		want string
	}{
		"another order":       {set("order", "o-7"), `wrong: order is "o-7", but X-Request-ID was "contract-\w+-one"`},
		"another quantity":    {set("quantity", 5), `wrong: quantity is 5, but 1 was ordered`},
		"one unit for all":    {set("units", []int64{10}), `wrong: unit 10 was sold to both of two orders`},
		"units in words":      {set("units", []string{"ten"}), `wrong: units is not a list of whole numbers`},
		"no unit":             {set("units", []int64{}), `wrong: units are \[\], but of 10 they are \[10\]`},
		"left as it was":      {set("left", 10), `wrong: left is 10, but should be 10 - 1`},
		"backwards":           {told(backwards), `wrong: lease.released_at lies before lease.acquired_at`},
		"whole seconds":       {told(seconds), `wrong: the times of the lease are whole seconds`},
		"201":                 {status(200, 201), `decrease: 200 +must +wrong: answered 201 Created`},
		"400 in place of 409": {status(409, 400), `decrease: 409 +must +wrong: answered 400 Bad Request, sold out: 7 left`},
		"503 in a crowd": {func(in *instance) {
			in.tell = func(o *order) {
				if strings.Contains(o.id, "crowd") {
					o.status, o.doc = 503, nil
				}
			}
		}, `decrease: 423 +may +wrong: 4 at once: answered 503`},
		"a refusal that sells": {func(in *instance) {
			in.sell = func(o *order) {
				in.underLock(o)
				if o.status == http.StatusConflict {
					in.take(o.product, 1)
				}
			}
		}, `decrease: 409 +must +wrong: it took 1 units all the same`},
		"a memory of all": {edited("GET /orders/{order}", func(doc map[string]any) { doc["outcome"] = "refused" }),
			`GET /orders/\{order\} +may +wrong: outcome is "refused" of an order that was sold`},
		"a memory of a seller": {edited("GET /orders/{order}", func(doc map[string]any) { doc["sold_by"] = "o-7" }),
			`GET /orders/\{order\} +may +wrong: sold_by is "o-7", but no other order of the product was in flight`},
		"sold by nobody": {set("sold_by", "o-7"), `wrong: sold_by is "o-7", but no other order of the product was in flight`},
		"refused by nobody": {told(func(o *order) {
			if o.status == http.StatusConflict {
				o.doc["sold_by"] = "o-7"
			}
		}), `409 +must +wrong: sold_by is "o-7", but no other order of the product was in flight`},
		"sold by a number": {set("sold_by", 7), `wrong: sold_by is not text`},
		"no answer": {func(in *instance) { in.tell = func(o *order) { o.status = 0 } },
			`decrease: 200 +must +wrong: no answer: `},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, table, _ := contractOf(t, c.bend)
			assert.Regexp(t, c.want, table)
			assert.Equal(t, surprised, code, table)
			assert.Contains(t, table, "\nnot fulfilled: ")
		})
	}
}

// A service that cannot be asked is no service that lacks something.
func TestContractThatCannotBeAskedFor(t *testing.T) {
	shop, _ := newShop()
	serve := func(before func(http.ResponseWriter, *http.Request) (done bool)) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !before(w, r) {
				shop.handler().ServeHTTP(w, r)
			}
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	locked := serve(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusUnauthorized)
		}
		return r.Method == http.MethodPut
	})
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"localhost:5000", couldNotRun, "^loadtest: contract: number 1 is not a URL such as .*\n$"},
		{"http://127.0.0.1:1", couldNotRun, "^loadtest: .* does not answer: start the service, or name where .*\n$"},
		{shop.serve(t) + " --rung v44", couldNotRun, "--rung: .* does not offer v44; it offers v4, v17"},
		{locked, couldNotRun, "set LOADTEST_ADMIN_TOKEN"},
		{serve(func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, "<html>"); return true }), surprised,
			`GET /rungs +must +wrong: answered 200, and no JSON`},
		{serve(func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, `{} and more`); return true }), surprised,
			`GET /rungs +must +wrong: answered 200, and no JSON`},
	} {
		code, stdout, stderr := loadtest(t, append([]string{"contract"}, strings.Fields(c.args)...)...)
		assert.Equal(t, c.code, code)
		assert.Regexp(t, c.says, stdout+stderr)
	}

	t.Setenv("LOADTEST_ADMIN_TOKEN", "secret")
	code, _, stderr := loadtest(t, "contract", serve(func(_ http.ResponseWriter, r *http.Request) bool {
		admin := r.Method == http.MethodPut || r.Method == http.MethodDelete
		assert.Equal(t, admin, r.Header.Get("Authorization") == "Bearer secret", "%s %s", r.Method, r.URL.Path)
		return false
	}))
	assert.Equal(t, asExpected, code, stderr)
}

func TestContractThatIsInterruptedTakesItsProductAway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	shop, _ := newShop()
	shop.tell = func(o *order) {
		cancel()
		select {
		case <-o.request.Context().Done():
		case <-time.After(10 * time.Second):
		}
	}
	_, err := contract.Check(ctx, contract.Options{Base: shop.serve(t)})
	require.ErrorContains(t, err, "interrupted")
	assert.Empty(t, shop.products())
}

// What loadtest needs of a service, stockapi has: on a rung without a lock, on one with, on one with fencing tokens.
func TestStockapiFulfilsTheContract(t *testing.T) {
	t.Setenv("LOADTEST_ADMIN_TOKEN", "secret")
	cmd := exec.Command(stockapi(t), "--redis", "embedded", "--addr", "127.0.0.1:0", "--log-format", "json",
		"--admin-token", "secret",
		"--exit-with-stdin")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	var ready struct{ Msg, URL string }
	for lines := bufio.NewScanner(log); ready.Msg != "ready" && lines.Scan(); {
		_ = json.Unmarshal(lines.Bytes(), &ready)
	}
	require.NotEmpty(t, ready.URL)
	go func() { _, _ = bufio.NewReader(log).WriteTo(io.Discard) }() // a full pipe would hold it up
	for _, rung := range []string{"", "v0.5", "v4", "v15", "v17"} {
		code, stdout, stderr := loadtest(t, "contract", ready.URL, "--rung="+rung)
		assert.Equal(t, asExpected, code, stdout+stderr)
		assert.NotContains(t, stdout, "wrong")
	}
	code, _, stderr := loadtest(t, "contract", ready.URL, "--rung=v155")
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `does not offer v155; it offers v0, .*, did you mean "v1\.5"\?\n$`, stderr)
	t.Setenv("LOADTEST_ADMIN_TOKEN", "")
	code, _, stderr = loadtest(t, "contract", ready.URL)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "set LOADTEST_ADMIN_TOKEN")
}
