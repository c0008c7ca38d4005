package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/internal/backend/backendtest"
)

// judgeOf judges a shop of two instances that sell in that way, or as it should be.
func judgeOf(t *testing.T, tell func(*order), rung string) (code int, stdout string, shop *instance) {
	t.Helper()
	backendtest.Long(t)
	t.Parallel()
	a, b := newShop()
	a.tell, b.tell = tell, tell
	code, stdout, stderr := loadtest(t, "judge", a.serve(t)+"/", b.serve(t), "--requests", "40", "--concurrency", "10",
		"--stock", "10", "--rung", rung)
	assert.Contains(t, stderr, "late-release: ", "progress")
	assert.Contains(t, stdout, "\nnot tried: nobody is killed")
	assert.NotContains(t, stdout, "expected")
	assert.Empty(t, a.products(), "it takes its products away again")
	return code, stdout, a
}

// Nothing is expected of a service, whatever its rung is called: v4 may hold, and v17 may not.
func TestJudgeOfASoundShop(t *testing.T) {
	code, stdout, _ := judgeOf(t, nil, "v4")
	assert.Equal(t, asExpected, code, stdout)
	assert.Regexp(t, `late-release +5 +95 +ok +ok +ok +ok +–\n$`, stdout)
}

func TestJudgeOfAShopThatSellsTwice(t *testing.T) {
	code, stdout, _ := judgeOf(t, sellsTwice, "V17")
	assert.Equal(t, surprised, code, stdout)
	assert.Regexp(t, `(?s)two-instances [^\n]* BROKEN.*two-instances: . sold unit 11`, stdout)
}

// A verdict that nothing was asked about names what the answers lack.
func TestJudgeOfAShopWithoutTraces(t *testing.T) {
	code, stdout, _ := judgeOf(t, func(o *order) { delete(o.doc, "trace") }, "v4")
	assert.Equal(t, asExpected, code, stdout)
	assert.Contains(t, stdout, "\nown-release was not asked: no answer had the member trace\n")
	assert.NotContains(t, stdout, "exclusion was not asked")
}

// The contract says of a service that removes nothing: what was put there stays. Its verdicts count all the same.
func TestJudgeOfAShopThatRemovesNothing(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	shop, _ := newShop()
	shop.without = []string{"DELETE /locks/{product}", "DELETE /stock/{product}"}
	code, stdout, stderr := loadtest(t, "judge", shop.serve(t), "--requests", "4", "--concurrency", "2")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Contains(t, stderr, "one-instance: its product was not removed: DELETE ")
}

// What was judged before a service died is told.
func TestJudgeOfAShopThatDies(t *testing.T) {
	shop, _ := newShop()
	shop.tell = sellsTwice
	handler := shop.handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shop.arrived() > 40 && r.URL.Path == "/rungs" {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	code, stdout, stderr := loadtest(t, "judge", server.URL, "--requests", "40", "--concurrency", "4", "--stock", "10")
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `one-instance +\d+ +\d+ +BROKEN`, stdout)
	assert.Contains(t, stderr, "loadtest: judge: slow-work: GET ")
}

// A shop that turns its buyers away breaks nothing, and does not go unmentioned.
func TestJudgeOfAShopThatIsBusy(t *testing.T) {
	shop, _ := newShop()
	shop.sell = func(o *order) {
		if o.number > 4 && o.number <= 40 {
			o.refuse(http.StatusLocked, "lock-busy", "somebody else holds the lock")
			return
		}
		o.underLock(o)
	}
	_, stdout, _ := loadtest(t, "judge", shop.serve(t), "--requests", "40", "--concurrency", "1", "--stock", "10")
	assert.Regexp(t, `one-instance +4 +6 +ok`, stdout)
	assert.Contains(t, stdout, "\none-instance: 36 of 40 orders busy though stock was left\n")
}

// What could not be tried is no success.
func TestJudgeOfAShopThatDoesNotWork(t *testing.T) {
	shop, _ := newShop()
	shop.sell = func(o *order) {
		o.work = 0
		o.underLock(o)
	}
	code, stdout, _ := loadtest(t, "judge", shop.serve(t), "--requests", "4", "--concurrency", "2")
	assert.Equal(t, couldNotRun, code, stdout)
	assert.Contains(t, stdout, "slow-work: not tried: work=2.5s with ttl=1s was answered after ")
	assert.Contains(t, stdout, "\nnot tried: two instances, as one URL was given")
	assert.NotContains(t, stdout, "two-instances")
}

func TestJudgeRefusesWhatItCannotAsk(t *testing.T) {
	shop, _ := newShop()
	url := shop.serve(t)
	for _, args := range []string{"", "nowhere", "ftp://x", "http://127.0.0.1:1", url + " --rung v99",
		url + " --requests 0", url + " --stock -1"} {
		code, stdout, stderr := loadtest(t, slices.Concat([]string{"judge"}, strings.Fields(args))...)
		assert.Equal(t, couldNotRun, code, args)
		assert.Empty(t, stdout, args)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
