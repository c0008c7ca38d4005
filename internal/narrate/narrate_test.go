package narrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

var aLine = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} (\S+) +(\S+) +\+(\d+) ms ([ !]) (.*)$`)

// lines returns the texts of the lines, each after its mark.
func lines(t *testing.T, out string) (texts []string) {
	t.Helper()
	for line := range strings.Lines(out) {
		parts := aLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if assert.NotNil(t, parts, "%q", line) {
			texts = append(texts, strings.TrimSpace(parts[4]+" "+parts[5]))
		}
	}
	return texts
}

func wants(id, rung string) Wants {
	return Wants{ID: id, Rung: rung, TTL: time.Second, Items: []stock.Item{{Product: "10000", Quantity: 1}}}
}

// hears passes the command to the order as the trace does.
func hears(o *Order, cmd, key, reply string) {
	now := time.Now()
	o.command(trace.Event{Node: "redis", Cmd: cmd, Key: key, At: now, End: now, Reply: reply})
}

const key = "DistributedLock_10000"

// has acquires a lock whose key has a TTL, on a rung that does not watch its lease.
func has(o *Order) *lock.Lease {
	hears(o, "set", key, "true")
	lease := &lock.Lease{Context: context.Background(), Token: "TOKENTOKEN"}
	o.Has(lease, 0)
	return lease
}

// A lease that its rung does not watch is reported expired after its TTL.
func TestUnwatchedLease(t *testing.T) {
	for name, test := range map[string]struct {
		steps func(o *Order)
		want  []string
	}{
		"at work": {func(o *Order) {
			lease := has(o)
			hears(o, "get", "ProductStock_10000", "98")
			o.Works(2 * time.Second)
			time.Sleep(2 * time.Second)
			o.Sold([]int64{97})
			o.Released(lease, lock.ErrLost)
			time.Sleep(time.Minute)
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s", "read 98", "works for 2s",
			"! its lease has expired (TTL 1s)", "! sold unit 98, wrote 97, without a lease",
			"! lease lost: the key was gone or another's"}},
		"renewed": {func(o *Order) {
			lease := has(o)
			for range 4 {
				time.Sleep(time.Second / 2)
				hears(o, "eval:renew", key, "1")
			}
			o.Sold([]int64{97})
			o.Released(lease, nil)
			time.Sleep(time.Minute)
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s", "renews its lease", "renews its lease",
			"renews its lease", "renews its lease", "sold unit 98, wrote 97", "released"}},
		"a renewal that fails": {func(o *Order) {
			has(o)
			o.command(trace.Event{Cmd: "eval:renew", Key: key, End: time.Now(), Err: "NOSCRIPT No matching script"})
			o.command(trace.Event{Cmd: "eval:renew", Key: key, End: time.Now(), Err: "context canceled"})
			o.command(trace.Event{Cmd: "eval:renew", Key: key, End: time.Now(), Err: "i/o timeout"})
			hears(o, "eval:renew", key, "0")
			time.Sleep(2 * time.Second)
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s", "renewal failed: i/o timeout",
			"! renewal refused: the key is no longer its own", "! its lease has expired (TTL 1s)"}},
		"a renewal whose reply is late": {func(o *Order) {
			has(o)
			time.Sleep(1500 * time.Millisecond)
			hears(o, "eval:renew", key, "1")
			o.Sold([]int64{97})
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s", "! its lease has expired (TTL 1s)",
			"renews its lease", "sold unit 98, wrote 97"}},
		"a DEL in time": {func(o *Order) {
			lease := has(o)
			hears(o, "del", key, "1")
			o.Released(lease, nil)
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s", "released: deleted the key"}},
		"a DEL that comes late": {func(o *Order) {
			lease := has(o)
			time.Sleep(1500 * time.Millisecond)
			hears(o, "del", key, "1")
			o.Released(lease, nil)
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s", "! its lease has expired (TTL 1s)",
			"! DELETED ANOTHER'S KEY: its own had expired"}},
		"a DEL of nothing": {func(o *Order) {
			lease := has(o)
			hears(o, "del", key, "0")
			o.Released(lease, nil)
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s",
			"! lease lost: no key was left to delete"}},
		"another's token": {func(o *Order) {
			lease := has(o)
			hears(o, "get", key, "OTHER")
			o.Released(lease, lock.ErrLost)
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s",
			"! lease lost: leaves another's key alone"}},
		"no token": {func(o *Order) {
			lease := has(o)
			hears(o, "get", key, "nil")
			o.Released(lease, lock.ErrLost)
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s", "! lease lost: the key was gone"}},
		"renewed after its release": {func(o *Order) {
			lease := has(o)
			o.Failed(stock.ErrSoldOut)
			o.Released(lease, nil)
			o.Failed(stock.ErrSoldOut)
			time.Sleep(time.Second / 2)
			hears(o, "eval:renew-or-recreate", key, "1")
		}, []string{"wants 1 of 10000", "holds the lock: token TOKENT, TTL 1s", "not sold: sold out", "released",
			"! renews a lock that it has released"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				_, o := New(&out, false).Begin(context.Background(), wants("a", "v4"))
				test.steps(o)
				synctest.Wait()
				assert.Equal(t, test.want, lines(t, out.String()))
			})
		})
	}
}

// A rung that watches its lease reports the loss itself.
func TestWatchedLeaseIsLost(t *testing.T) {
	for cause, want := range map[error][]string{
		lock.ErrLost:      {"! lease lost: cancels the work", "! not sold: lease lost"},
		lock.ErrExhausted: {"! no more renewals: cancels the work", "not sold: " + lock.ErrExhausted.Error()},
		context.Canceled:  {"not sold: the client has gone"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			ctx, o := New(&out, false).Begin(context.Background(), wants("a", "v5.5"))
			ctx, lose := context.WithCancelCause(ctx)
			lease := &lock.Lease{Context: ctx, Token: "T"}
			o.Has(lease, 0)
			lose(cause)
			synctest.Wait()
			o.Failed(cause)
			assert.Equal(t, len(want) > 1, o.Released(lease, nil), "the loss is reported")
			want = append([]string{"wants 1 of 10000", "holds the lock: token T"}, append(want, "released")...)
			assert.Equal(t, want, lines(t, out.String()))
		})
	}
}

// The two fences are printed in two terminals: the reader need not compare sixteen digits.
func TestRefusedFenceIsComparedWithTheNewest(t *testing.T) {
	for newest, says := range map[string]string{
		"1795702089474689":  "…7487380, older than …9474689 by 2.0 s",
		"1795702087529380":  "…487380, older than …529380 by 42 ms",
		"1795702087487383":  "…0, older than …3 by 3", // a lease that is handed on: the token counts
		"1895702087487380":  "…795702087487380, older than …895702087487380 by 100000000.0 s",
		"10000000000000000": "1795702087487380, older than 10000000000000000 by 8204297912.5 s",
	} {
		var out bytes.Buffer
		_, o := New(&out, false).Begin(context.Background(), wants("a", "v15"))
		o.Has(&lock.Lease{Context: context.Background(), Token: "T", Fence: 1795702087487380}, 0)
		assert.True(t, o.Failed(fmt.Errorf("%w: STALE a newer token has been seen: %s", stock.ErrStale, newest)))
		assert.Equal(t, "! not sold: the stock refuses fence "+says, lines(t, out.String())[2])
	}
}

// The log leaves out what the narration has printed, and only that.
func TestLogOmitsWhatWasNarrated(t *testing.T) {
	var none *Order
	lease := &lock.Lease{Context: context.Background(), Token: "T"}
	assert.False(t, none.Failed(lock.ErrBusy))
	assert.False(t, none.Released(lease, lock.ErrLost))
	for unlocked, told := range map[error]bool{lock.ErrLost: true, errors.New("release: away"): true, nil: false} {
		_, o := New(io.Discard, false).Begin(context.Background(), wants("a", "v4"))
		o.Has(lease, 0)
		assert.True(t, o.Failed(stock.ErrSoldOut))
		assert.True(t, o.Failed(stock.ErrSoldOut), "printed once, and so the second time too")
		assert.Equal(t, told, o.Released(lease, unlocked))
	}
	_, o := New(io.Discard, false).Begin(context.Background(), wants("a", "v4"))
	assert.False(t, o.Failed(nil))
	assert.False(t, o.Failed(fmt.Errorf("%w: i/o timeout", stock.ErrUnknown)), "the cause is not printed")
}

// Several units and products, and a reader, who sells none, are narrated as such.
func TestItemsOfAnOrder(t *testing.T) {
	for name, test := range map[string]struct {
		items []stock.Item
		left  []int64
		want  []string
	}{
		"units": {[]stock.Item{{Product: "10000", Quantity: 3}}, []int64{97},
			[]string{"wants 3 of 10000", "takes no lock", "read 100", "sold units 98 to 100, wrote 97"}},
		"products": {[]stock.Item{{Product: "10000", Quantity: 1}, {Product: "10001", Quantity: 2}}, []int64{99, 8},
			[]string{"wants 1 of 10000 and 2 of 10001", "takes no lock", "read 100 of 10000",
				"sold unit 100 of 10000, wrote 99", "sold units 9 to 10 of 10001, wrote 8"}},
		"reader": {[]stock.Item{{Product: "10000"}}, []int64{100},
			[]string{"wants to read 10000", "takes no lock", "read 100"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := wants("a", "v0")
			w.Items = test.items
			_, o := New(&out, false).Begin(context.Background(), w)
			o.Has(&lock.Lease{Context: context.Background()}, 0)
			hears(o, "get", "ProductStock_10000", "100")
			o.Sold(test.left)
			assert.Equal(t, test.want, lines(t, out.String()))
		})
	}
}

// A compare-and-set reads twice. The second read shows whether it starts over.
func TestCompareAndSetStartsOver(t *testing.T) {
	var out bytes.Buffer
	_, o := New(&out, false).Begin(context.Background(), wants("a", "v16"))
	o.Has(&lock.Lease{Context: context.Background()}, 0)
	const shelf = "ProductStock_10000"
	for _, value := range []string{"77", "76"} {
		hears(o, "get", shelf, value)
		hears(o, "watch", shelf, "OK")
		hears(o, "get", shelf, "76")
	}
	o.Sold([]int64{75})
	assert.Equal(t, []string{"wants 1 of 10000", "takes no lock", "read 77",
		"read 76 this time: starts over", "read 76", "read 76 again",
		"sold unit 76, wrote 75"}, lines(t, out.String()))
}

// A lock of ZooKeeper is checked by the command that also renews it, before the order holds it.
func TestCheckBeforeTheLockIsNoRenewal(t *testing.T) {
	var out bytes.Buffer
	_, o := New(&out, false).Begin(context.Background(), wants("a", "v14"))
	hears(o, "zk:check", "/locks/10000/n-1", "true")
	lease := &lock.Lease{Context: context.Background(), Token: "T"}
	o.Has(lease, 0)
	hears(o, "zk:check", "/locks/10000/n-1", "true")
	o.Released(lease, errors.New("release: no server answers"))
	assert.Equal(t, []string{"wants 1 of 10000", "holds the lock: token T", "renews its lease",
		"! release failed: no server answers"}, lines(t, out.String()))
}

func TestWaitingIsNarratedOnce(t *testing.T) {
	var out bytes.Buffer
	_, o := New(&out, false).Begin(context.Background(), wants("a", "v4"))
	o.Busy(lock.ErrBusy, 0)
	o.Busy(errors.New("away"), time.Second)
	for range 3 {
		o.Busy(lock.ErrBusy, 3*time.Second)
	}
	o.Has(&lock.Lease{Context: context.Background(), Token: "T"}, 812*time.Millisecond)
	assert.Equal(t, []string{"wants 1 of 10000", "waits for the lock, 3s at most", "holds the lock after 812 ms: token T"},
		lines(t, out.String()))
}

// Lines are aligned, whatever the names of order and rung.
func TestColumnsAreAligned(t *testing.T) {
	var out bytes.Buffer
	n := New(&out, false)
	for _, w := range []Wants{wants("anna", "v4"), wants("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "v5.5"),
		wants("b", "v15-write-only"), wants("c", "v4")} {
		n.Begin(context.Background(), w)
	}
	all := strings.Split(strings.TrimSpace(out.String()), "\n")
	assert.Contains(t, all[1], " ABCDE…WXYZ v5.5 ")
	column := func(line string) int {
		before, _, _ := strings.Cut(line, "wants")
		return len([]rune(before))
	}
	assert.Equal(t, column(all[0]), column(all[1]))
	assert.Equal(t, column(all[2]), column(all[3]))
	assert.LessOrEqual(t, column(all[0]), 42, "so that two terminals fit side by side")
}

func TestColorIsForTerminals(t *testing.T) {
	for _, color := range []bool{false, true} {
		var out bytes.Buffer
		_, o := New(&out, color).Begin(context.Background(), wants("a", "v4"))
		o.Failed(stock.ErrStale)
		assert.Equal(t, color, strings.Contains(out.String(), "\x1b[1;31m"))
		assert.Equal(t, color, strings.Contains(out.String(), "\x1b"))
		assert.Contains(t, out.String(), " ! not sold: the stock refuses ")
	}
}

// A server's reply may contain anything; a line stays a line.
func TestALineStaysALine(t *testing.T) {
	var out bytes.Buffer
	_, o := New(&out, false).Begin(context.Background(), wants("a", "v4"))
	hears(o, "get", "ProductStock_10000", "1\n\x1b[2J\r\u0085x")
	assert.Equal(t, []string{"wants 1 of 10000", "read 1  [2J  x"}, lines(t, out.String()))
}
