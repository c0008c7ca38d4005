package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/wire"
)

// The numbers that the first order read or counted may be the stock. Those with the product's number are, if there are
// any; a key that the order also sets or removes is none.
func TestStocksThatTheFirstOrderRead(t *testing.T) {
	f := &firstOrder{bench: forge.Begin().Bench}
	sent := func(reply string, args ...string) record.Observation {
		return record.Observation{Seen: wire.Seen{Args: args, Reply: reply}}
	}
	transaction := sent("[4 OK]", "EXEC")
	transaction.Queued = [][]string{{"DECR", "units:10000"}, {"SET", "last", "10000"}}
	lock := sent("OK", "SET", "lock:10000", "7", "NX")
	for _, one := range []struct {
		what     string
		commands []record.Observation
		want     []string
	}{
		{"a field", []record.Observation{lock, sent("(nil)", "HGET", "inventory", "10000")},
			[]string{"HSET inventory {product} {n}"}},
		{"a key", []record.Observation{sent(`"5"`, "get", "stock:10000")}, []string{"SET stock:{product} {n}"}},
		{"a counter", []record.Observation{sent("-1", "HINCRBY", "shelf", "10000", "-1")}, []string{"HSET shelf {product} {n}"}},
		{"in a transaction", []record.Observation{transaction}, []string{"SET units:{product} {n}"}},
		{"that of the product", []record.Observation{sent("(nil)", "GET", "limit"), sent("(nil)", "GET", "units:10000")},
			[]string{"SET units:{product} {n}"}},
		{"two", []record.Observation{sent("(nil)", "GET", "x"), sent("1", "GET", "y"), sent("1", "GET", "y")},
			[]string{"SET x {n}", "SET y {n}"}},
		{"the lock", []record.Observation{lock, sent(`"7"`, "GET", "lock:10000")}, nil},
		{"a text", []record.Observation{sent(`"open"`, "GET", "shop")}, nil},
		{"no key", []record.Observation{sent("PONG", "PING"), sent("", "GET")}, nil},
	} {
		assert.Equal(t, one.want, f.stocksRead(one.commands), one.what)
	}
}
