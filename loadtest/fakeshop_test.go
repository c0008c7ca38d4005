package main

import (
	"net/http/httptest"
	"testing"

	"stockapi/loadtest/contract/contracttest"
)

// fakeShop is a shop in memory that fulfils the contract. Its fault is whatever the test wants to see found out.
type fakeShop struct {
	*contracttest.Instance
	*httptest.Server
	// oversell sells every tenth unit twice, whatever the rung; lacks is a rung that cannot be had here.
	oversell bool
	lacks    string
}

func newFakeShop(t *testing.T) *fakeShop {
	t.Helper()
	f := &fakeShop{Instance: contracttest.NewInstance(contracttest.NewStore(), "fake")}
	f.Rungs = []string{"v0", "v0.5", "v1", "v1.5", "v2", "v3", "v4", "v5", "v5-as-printed", "v6"}
	f.Sell = func(o *contracttest.Order) {
		o.Work = 0
		f.UnderLock(o)
	}
	f.Tell = func(o *contracttest.Order) {
		if units, sold := o.Doc["units"].([]int64); sold && f.oversell && units[0]%10 == 0 {
			units[0]++
		}
	}
	f.Edit = map[string]func(map[string]any){"GET /rungs": func(doc map[string]any) {
		for _, rung := range doc["rungs"].([]any) {
			if entry := rung.(map[string]any); entry["number"] == f.lacks {
				entry["available"], entry["needs"] = false, []string{"five nodes"}
			}
		}
	}}
	f.Server = httptest.NewServer(f.Handler())
	t.Cleanup(f.Close)
	return f
}
