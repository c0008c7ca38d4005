// Package forge builds cells of forged orders and commands, for tests: no process is started.
package forge

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// The keys of forged records.
const (
	LockKey  = "lock:10000"
	StockKey = "ProductStock_10000"
)

// A Forgery is a cell of forged orders and commands: no process is started.
type Forgery struct {
	*record.Bench
	Record map[*shop.Order][]record.Observation
}

// Begin begins a forgery at a shop whose lock is a leased key with a token.
func Begin() *Forgery {
	p := &sale.Passport{Facts: history.Facts{Locks: []string{LockKey}, TTL: 2 * time.Second, Token: true,
		Release: "a script"},
		Keys:   []wire.Lock{{Key: wire.Key{Name: LockKey}, Parts: []string{""}}},
		Writes: Shapes("set stock"), Acquires: Shapes("set lock"), Releases: sale.Shapes{}, Renewals: sale.Shapes{}}
	s := &shop.Shop{Options: shop.Options{Argv: []string{"shop"}, Product: "10000",
		Stock: []string{"SET", "ProductStock_{product}", "{n}"}}}
	b := &record.Bench{Passport: p, Pair: &shop.Pair{Shop: s, Rig: &rig.Rig{}},
		Cell: &history.Cell{Start: time.Unix(1000, 0)}}
	for i := range 2 {
		b.Pair.Rig.Ends = append(b.Pair.Rig.Ends, &rig.End{Client: schedule.Client{Index: i, Name: schedule.ClientName(i)}})
	}
	return &Forgery{b, map[*shop.Order][]record.Observation{}}
}

// Shape returns the shape of a text such as set lock, or set IFEQ lock.
func Shape(text string) (s sale.Shape) {
	s.Verb, text, _ = strings.Cut(text, " ")
	for word := range strings.FieldsSeq(text) {
		if strings.ToUpper(word) == word {
			s.Condition = word
		} else {
			s.On = sale.Role(word)
		}
	}
	return s
}

// Shapes returns the shapes of texts.
func Shapes(texts ...string) sale.Shapes {
	all := sale.Shapes{}
	for _, text := range texts {
		all[Shape(text)] = true
	}
	return all
}

// After returns a moment of the cell.
func (f *Forgery) After(ms int) time.Time {
	return f.Cell.Start.Add(time.Duration(ms) * time.Millisecond)
}

// Order adds an order that lasted from one moment to another.
func (f *Forgery) Order(
	name string, at int, outcome history.Outcome, from, to int, commands ...record.Observation,
) *shop.Order {
	o := f.Pair.Shop.NewOrder(name, at, history.Buy)
	o.Op.Outcome = outcome
	o.Send(context.Background(), func(context.Context) history.Op { return o.Op })
	<-o.Done()
	o.Sent = f.After(from)
	if to > 0 {
		o.Ended, o.Over = f.After(to), f.After(to)
	}
	f.Orders = append(f.Orders, o)
	f.Record[o] = commands
	return o
}

// Command returns a command that arrived at the proxy at a moment, and whose reply was delivered a millisecond later.
func (f *Forgery) Command(ms int, effect history.Effect, args ...string) record.Observation {
	c := f.Unseen(ms, args...)
	key := LockKey
	if len(args) > 1 && args[0] != "eval" {
		key = args[1]
	}
	c.Effects = []history.Command{{Cmd: args[0], Key: key, Source: history.Looked, Effect: effect,
		At: history.At(f.Cell.Start, c.Sent), End: history.At(f.Cell.Start, c.Answered)}}
	return c
}

// Unseen returns a command whose effects were not observed.
func (f *Forgery) Unseen(ms int, args ...string) record.Observation {
	return record.Observation{Seen: wire.Seen{Command: schedule.Command{Name: args[0]}, Args: args,
		Came: f.After(ms), Sent: f.After(ms), Answered: f.After(ms + 1), Delivered: f.After(ms + 1)}}
}

// Acquire returns a command that acquires the lock.
func (f *Forgery) Acquire(ms int) record.Observation {
	return f.Command(ms, history.EffectAcquired, "set", LockKey, "a token of its own", "nx", "px", "2000")
}

// Tried returns one that finds the lock taken.
func (f *Forgery) Tried(ms int) record.Observation {
	return f.Command(ms, history.EffectTried, "set", LockKey, "another token", "nx", "px", "2000")
}

// Read returns a read of the stock.
func (f *Forgery) Read(ms int) record.Observation {
	return f.Command(ms, history.EffectRead, "get", StockKey)
}

// Write returns a write that leaves 9 units of ten.
func (f *Forgery) Write(ms int) record.Observation { return f.Leave(ms, 9) }

// Leave returns a write of the stock, which then has that many units.
func (f *Forgery) Leave(ms, left int) record.Observation {
	return f.Command(ms, history.EffectWrote, "set", StockKey, strconv.Itoa(left))
}

// Release returns a release that names the token.
func (f *Forgery) Release(ms int) record.Observation {
	return f.Command(ms, history.EffectReleased, "eval", "script", "1", LockKey, "a token of its own")
}

// Del returns a release that does not.
func (f *Forgery) Del(ms int) record.Observation {
	return f.Command(ms, history.EffectReleased, "del", LockKey)
}

// Wrote returns the ledger's record of a write.
func (f *Forgery) Wrote(ms, at int, before, after int64, counts bool) record.Written {
	w := wire.StockWrite{At: f.After(ms), Before: before, After: after, Counts: counts}
	return record.Written{StockWrite: w, Instance: at}
}

// Unheard makes the reply of a command undelivered.
func Unheard(reply record.Observation) record.Observation {
	reply.Delivered = time.Time{}
	return reply
}

// A Drawer holds the stock in one file, and the sales in another; its shop takes a unit for each order.
type Drawer struct {
	t            *testing.T
	mu           sync.Mutex
	Stock, Sales string        // paths
	Answers      int           // status of a sale
	Back         time.Duration // after which a unit is put back; 0: never
	backs        sync.WaitGroup
}

// NewDrawer returns a drawer with 40 units, and 5 sales. It ends with the test.
func NewDrawer(t *testing.T) *Drawer {
	d := &Drawer{t: t, Answers: http.StatusOK}
	d.Stock, d.Sales = filepath.Join(t.TempDir(), "stock"), filepath.Join(t.TempDir(), "sales")
	t.Cleanup(d.backs.Wait)
	d.add(d.Stock, 40)
	d.add(d.Sales, 5)
	return d
}

func (d *Drawer) add(path string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, _ := os.ReadFile(path)
	had, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	assert.NoError(d.t, os.WriteFile(path, []byte(strconv.Itoa(had+n)), 0o600))
}

func (d *Drawer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	d.add(d.Stock, -1)
	d.add(d.Sales, 1)
	if d.Back > 0 {
		d.backs.Go(func() {
			time.Sleep(d.Back)
			d.add(d.Stock, 1)
		})
	}
	w.WriteHeader(d.Answers)
}

// Counting returns a bench of a shop that sells from the drawer, with no lock in that Redis.
func (d *Drawer) Counting(redisURL string) *record.Bench {
	store, err := wire.NewStore(0, "redis", redisURL)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { _ = store.Redis.Close() })
	server := httptest.NewServer(d)
	d.t.Cleanup(server.Close)
	f := Begin()
	f.Pair.Context, f.Pair.Client, f.Pair.Rig.Gate = d.t.Context(), server.Client(), wire.NewGate(nil)
	f.Pair.Rig.Stores = []*wire.Store{store}
	f.Pair.Shop.Stock = nil
	f.Pair.Shop.Set, f.Pair.Shop.Left, f.Pair.Shop.Product = "echo {n} > "+d.Stock, "cat "+d.Stock, "10000"
	for _, e := range f.Pair.Rig.Ends {
		e.In = &cluster.Instance{URL: server.URL}
	}
	f.Pair.Ledger, err = wire.NewLedger(d.t.Context(), store.Redis, f.Pair.Shop.Shelf())
	require.NoError(d.t, err)
	d.t.Cleanup(f.Pair.Ledger.Close)
	f.Pair.Shop.Bed = Testbed(d.t)
	return f.Bench
}

// Testbed returns a testbed that runs shell commands.
func Testbed(t *testing.T) *rig.Testbed {
	t.Helper()
	bed, _, err := rig.OpenForeign(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bed.Close()) })
	return bed
}
