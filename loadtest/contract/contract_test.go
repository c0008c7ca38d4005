package contract_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/loadtest/contract"
	"stockapi/loadtest/contract/contracttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// check asks a shop that is bent, or not.
func check(t *testing.T, rung string, bend func(*contracttest.Instance)) (
	fulfilled bool, table string, shop *contracttest.Instance,
) {
	t.Helper()
	shop = contracttest.NewInstance(contracttest.NewStore(), "a")
	if bend != nil {
		bend(shop)
	}
	server := httptest.NewServer(shop.Handler())
	defer server.Close()
	report, err := contract.Check(t.Context(), contract.Options{Base: server.URL, Rung: rung})
	require.NoError(t, err)
	var out strings.Builder
	report.Write(&out)
	return report.Fulfilled(), out.String(), shop
}

func TestAShopAsItShouldBe(t *testing.T) {
	fulfilled, table, shop := check(t, "", nil)
	assert.True(t, fulfilled, table)
	assert.NotContains(t, table, "missing")
	assert.NotContains(t, table, "wrong")
	assert.Regexp(t, `asked for v4 with product contract-[0-9a-f]{8}\n`, table, "the first that it lists")
	assert.Regexp(t, `(?m)^POST /v4/decrease: 200 +must +ok$`, table)
	assert.Regexp(t, `(?m)^POST /v4/decrease: 423 +may +(ok|not seen: .*)$`, table)
	assert.True(t, strings.HasSuffix(table, "\nall that is needed is there\n"), table)
	assert.Empty(t, shop.Products(), "it takes its product away again")

	_, table, _ = check(t, "v17", nil)
	assert.Contains(t, table, "POST /v17/decrease: 200")
}

// answers has every order's answer edited.
func answers(edit func(o *contracttest.Order)) func(*contracttest.Instance) {
	return func(in *contracttest.Instance) { in.Tell = edit }
}

// without removes a member of every sale, or of its lease.
func without(object, name string) func(*contracttest.Instance) {
	return answers(func(o *contracttest.Order) {
		doc := o.Doc
		if object != "" {
			doc, _ = o.Doc[object].(map[string]any)
		}
		delete(doc, name)
	})
}

// edited edits the answers of another route.
func edited(pattern string, edit func(doc map[string]any)) func(*contracttest.Instance) {
	return func(in *contracttest.Instance) { in.Edit = map[string]func(map[string]any){pattern: edit} }
}

func lacking(patterns ...string) func(*contracttest.Instance) {
	return func(in *contracttest.Instance) { in.Without = patterns }
}

func each(trace any, edit func(command map[string]any)) {
	commands, _ := trace.([]any)
	for _, c := range commands {
		edit(c.(map[string]any))
	}
}

func TestAShopThatLacksOneThing(t *testing.T) {
	cases := map[string]struct {
		bend      func(*contracttest.Instance)
		fulfilled bool
		want      string
	}{
		"no livez": {lacking("GET /livez"), true,
			`GET /livez .* missing: answered 404 .* connections are dialled`},
		"no readyz": {lacking("GET /readyz"), true, `GET /readyz .* missing: `},
		"no rungs": {lacking("GET /rungs"), false,
			`GET /rungs +must +missing: answered 404 Not Found +no cell is run`},
		"no stock to set": {lacking("PUT /stock/{product}"), false,
			`PUT /stock/\{product\} +must +missing: answered 405`},
		"no stock to read": {lacking("GET /stock/{product}"), false,
			`GET /stock/\{product\} +must +missing: answered 405 .* stock is unknown`},
		"no sale": {lacking("POST /{rung}/decrease"), false, `decrease: 200 +must +missing: answered 404`},
		"no orders": {lacking("GET /orders/{order}"), true,
			`GET /orders/\{order\} +may +missing: .* stays unknown`},
		"no metrics": {lacking("GET /metrics"), true, `GET /metrics +may +missing: .* commands per sale`},
		"no locks to break": {lacking("DELETE /locks/{product}"), true,
			`DELETE /locks/\{product\} +should +missing: .* stays`},
		"no stock to remove": {lacking("DELETE /stock/{product}"), true,
			`DELETE /stock/\{product\} +should +missing: answered 405`},
		"no rung listed": {func(in *contracttest.Instance) { in.Rungs = nil }, false,
			`GET /rungs +must +missing: rungs +no cell`},
		"rungs without names": {edited("GET /rungs", rungsWithout("number")), false,
			`missing: rungs\[\].number +no cell is run`},
		"one rung without a name": {edited("GET /rungs",
			func(doc map[string]any) { delete(doc["rungs"].([]any)[1].(map[string]any), "number") }),
			false, `missing: rungs\[\].number +no cell is run`},
		"none available": {edited("GET /rungs", rungsWithout("available")), false,
			`missing: rungs\[\].available .* not to be had`},
		"no name": {edited("GET /rungs", remove("instance")), true,
			`GET /rungs +should +missing: instance .* put down to nobody`},
		"no clock": {edited("GET /rungs", remove("clock")), true,
			`missing: clock .* times of two instances are not compared`},
		"no build": {edited("GET /rungs", remove("build")), true,
			`GET /rungs +may +missing: build .* which build was measured`},
		"no quantity left": {edited("GET /stock/{product}", remove("quantity")), false,
			`missing: quantity +stock is unknown`},
		"quantity in words": {edited("GET /stock/{product}", func(doc map[string]any) { doc["quantity"] = "ten" }), false,
			`wrong: quantity is not a whole number`},
		"a stock of its own": {func(in *contracttest.Instance) { in.Count = func(int64) int64 { return 7 } }, false,
			`wrong: 10 were put there, and it says 7`},
		"no order": {without("", "order"), false,
			`decrease: 200 +must +missing: order +the sale proves nothing: stock`},
		"no quantity":  {without("", "quantity"), false, `decrease: 200 +must +missing: quantity`},
		"no units":     {without("", "units"), false, `decrease: 200 +must +missing: units .* stock cannot be judged`},
		"no left":      {without("", "left"), true, `decrease: 200 +may +missing: left`},
		"no seller":    {without("", "instance"), true, `decrease: 200 +should +missing: instance .* behind a proxy`},
		"no lease":     {without("", "lease"), true, `decrease: 200 +should +missing: lease +exclusion cannot be judged`},
		"no beginning": {without("lease", "acquired_at"), true, `missing: lease.acquired_at +exclusion cannot be judged`},
		"no end":       {without("lease", "released_at"), true, `missing: lease.released_at +a lease without an end`},
		"no fence":     {without("lease", "fence"), true, `missing: lease.fence +fence cannot be judged`},
		"no trace": {without("", "trace"), true,
			`decrease: 200 +should +missing: trace +own-release cannot be judged`},
		"a trace of what?": {traceWithout("key"), true, `missing: trace\[\].key +own-release cannot be judged`},
		"a trace of when?": {traceWithout("at"), true, `missing: trace\[\].at +own-release cannot be judged`},
		"no replies": {traceWithout("reply"), true,
			`missing: trace\[\].reply +the command counts as one that did nothing`},
		"no word of why": {without("", "detail"), true, `decrease: 409 +may +missing: detail`},
		"nobody refuses": {without("", "instance_name"), true, `decrease: 409 +should +missing: instance_name`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fulfilled, table, _ := check(t, "", c.bend)
			assert.Regexp(t, c.want, table)
			assert.Equal(t, c.fulfilled, fulfilled, table)
		})
	}
}

func remove(name string) func(map[string]any) {
	return func(doc map[string]any) { delete(doc, name) }
}

func rungsWithout(name string) func(map[string]any) {
	return func(doc map[string]any) { each(doc["rungs"], remove(name)) }
}

func traceWithout(name string) func(*contracttest.Instance) {
	return answers(func(o *contracttest.Order) { each(o.Doc["trace"], remove(name)) })
}

func set(name string, value any) func(*contracttest.Instance) {
	return answers(func(o *contracttest.Order) {
		if o.Status == http.StatusOK {
			o.Doc[name] = value
		}
	})
}

// What is there and is not as it has to be misleads: that is worse than nothing.
func TestAShopThatSaysOneThingWrong(t *testing.T) {
	backwards := func(o *contracttest.Order) {
		if l := o.Lease(); l != nil {
			l["acquired_at"], l["released_at"] = "2026-01-01T00:00:02.5Z", "2026-01-01T00:00:01.5Z"
		}
	}
	seconds := func(o *contracttest.Order) {
		if l := o.Lease(); l != nil {
			l["acquired_at"], l["released_at"] = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
		}
	}
	status := func(from, to int) func(*contracttest.Instance) {
		return answers(func(o *contracttest.Order) {
			if o.Status == from {
				o.Status = to
			}
		})
	}
	cases := map[string]struct {
		bend func(*contracttest.Instance)
		want string
	}{
		"another order":       {set("order", "o-7"), `wrong: order is "o-7", and X-Request-ID was "contract-\w+-one"`},
		"another quantity":    {set("quantity", 5), `wrong: quantity is 5, and 1 was ordered`},
		"one unit for all":    {set("units", []int64{10}), `wrong: unit 10 was sold to both of two orders`},
		"units in words":      {set("units", []string{"ten"}), `wrong: units is not a list of whole numbers`},
		"no unit":             {set("units", []int64{}), `wrong: units are \[\], and of 10 they are \[10\]`},
		"left as it was":      {set("left", 10), `wrong: left is 10, and 10 - 1 is not`},
		"backwards":           {answers(backwards), `wrong: lease.released_at lies before lease.acquired_at`},
		"whole seconds":       {answers(seconds), `wrong: the times of the lease are whole seconds`},
		"201":                 {status(200, 201), `decrease: 200 +must +wrong: answered 201 Created`},
		"400 in place of 409": {status(409, 400), `decrease: 409 +must +wrong: answered 400 Bad Request, sold out: 7 left`},
		"500 in a crowd": {func(in *contracttest.Instance) {
			in.Tell = func(o *contracttest.Order) {
				if strings.Contains(o.ID, "crowd") {
					o.Status = 500
				}
			}
		}, `decrease: 423 +may +wrong: 4 at once: answered 500`},
		"a refusal that sells": {func(in *contracttest.Instance) {
			in.Sell = func(o *contracttest.Order) {
				in.UnderLock(o)
				if o.Status == http.StatusConflict {
					in.Take(o.Product, 1)
				}
			}
		}, `decrease: 409 +must +wrong: it took 1 units all the same`},
		"a memory of all": {edited("GET /orders/{order}", func(doc map[string]any) { doc["outcome"] = "refused" }),
			`GET /orders/\{order\} +may +wrong: outcome is "refused" of an order that was sold`},
		"a memory of a seller": {edited("GET /orders/{order}", func(doc map[string]any) { doc["sold_by"] = "o-7" }),
			`GET /orders/\{order\} +may +wrong: sold_by is "o-7", and no other order of the product was under way`},
		"sold by nobody": {set("sold_by", "o-7"), `wrong: sold_by is "o-7", and no other order of the product was under way`},
		"refused by nobody": {answers(func(o *contracttest.Order) {
			if o.Status == http.StatusConflict {
				o.Doc["sold_by"] = "o-7"
			}
		}), `409 +must +wrong: sold_by is "o-7", and no other order of the product was under way`},
		"sold by a number": {set("sold_by", 7), `wrong: sold_by is not text`},
		"no answer": {func(in *contracttest.Instance) { in.Tell = func(o *contracttest.Order) { o.Status = 0 } },
			`decrease: 200 +must +wrong: no answer: `},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fulfilled, table, _ := check(t, "", c.bend)
			assert.Regexp(t, c.want, table)
			assert.False(t, fulfilled, table)
			assert.Contains(t, table, "\nnot fulfilled: ")
		})
	}
}

func TestNotAShop(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>"))
	}))
	defer server.Close()
	report, err := contract.Check(t.Context(), contract.Options{Base: server.URL})
	require.NoError(t, err)
	var out strings.Builder
	report.Write(&out)
	assert.False(t, report.Fulfilled())
	assert.Regexp(t, `GET /rungs +must +wrong: answered 200, and no JSON`, out.String())
}

// A service that cannot be asked is no service that lacks something.
func TestAServiceThatCannotBeAsked(t *testing.T) {
	shop := contracttest.NewInstance(contracttest.NewStore(), "a")
	server := httptest.NewServer(shop.Handler())
	url := server.URL
	_, err := contract.Check(t.Context(), contract.Options{Base: url, Rung: "v44"})
	require.ErrorContains(t, err, "--rung: "+url+" does not offer v44; it offers v4, v17")
	server.Close()
	_, err = contract.Check(t.Context(), contract.Options{Base: url})
	require.ErrorContains(t, err, url+" does not answer: start the service")

	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		shop.Handler().ServeHTTP(w, r)
	}))
	defer locked.Close()
	_, err = contract.Check(t.Context(), contract.Options{Base: locked.URL})
	require.ErrorContains(t, err, "give it by LOADTEST_ADMIN_TOKEN")
}

func TestTheTokenIsSentToAdminRoutesAlone(t *testing.T) {
	shop := contracttest.NewInstance(contracttest.NewStore(), "a").Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admin := r.Method == http.MethodPut || r.Method == http.MethodDelete
		assert.Equal(t, admin, r.Header.Get("Authorization") == "Bearer secret", "%s %s", r.Method, r.URL.Path)
		shop.ServeHTTP(w, r)
	}))
	defer server.Close()
	_, err := contract.Check(t.Context(), contract.Options{Base: server.URL, Token: "secret"})
	require.NoError(t, err)
}

func TestACheckThatIsInterruptedTakesItsProductAway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	shop := contracttest.NewInstance(contracttest.NewStore(), "a")
	shop.Tell = func(o *contracttest.Order) {
		cancel()
		select {
		case <-o.Request.Context().Done():
		case <-time.After(10 * time.Second):
		}
	}
	server := httptest.NewServer(shop.Handler())
	defer server.Close()
	_, err := contract.Check(ctx, contract.Options{Base: server.URL})
	require.ErrorContains(t, err, "interrupted")
	assert.Empty(t, shop.Products())
}

// The document names every route and every member of the contract, and how much each is needed.
func TestTheDocumentTellsTheContract(t *testing.T) {
	b, err := os.ReadFile("../../docs/contract.md")
	require.NoError(t, err)
	sections := map[string]string{}
	for section := range strings.SplitSeq(string(b), "\n### ") {
		title, text, _ := strings.Cut(section, "\n")
		sections[strings.Trim(title, "`")] = text
	}
	for _, r := range contract.Routes {
		section, there := sections[strings.ReplaceAll(r.Name, ": ", "`: `")]
		if !assert.True(t, there, "docs/contract.md has no section %q", r.Name) {
			continue
		}
		assert.Contains(t, section, "**"+string(r.Need)+"**", r.Name)
		for _, m := range slices.Concat(r.Members, r.Sometimes) {
			assert.Contains(t, section, "| `"+m.Path+"` | "+string(m.Kind)+" | "+string(m.Need)+" | "+m.Without+" |", r.Name)
		}
	}
}
