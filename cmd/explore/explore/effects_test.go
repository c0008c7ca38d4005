package explore

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// Each rung whose lock is in Redis sells at two instances at once, and the effects seen by looks alone agree with the
// command names in the traces. So effects can be trusted where a client has no such names.
func TestEffectsOfTheLadderAgreeWithItsNames(t *testing.T) {
	backendtest.Long(t)
	backendtest.Require(t)
	server := backendtest.StartRedis(t)
	rdb := backendtest.Client(t, server)
	on := lock.Backends{Redis: rdb, Redlock: []redis.UniversalClient{rdb},
		Commands: lock.AskCommands(t.Context(), rdb, "1")}
	for _, r := range lock.Ladder() {
		if on.Missing(r) != "" {
			continue
		}
		t.Run(r.Number, func(t *testing.T) {
			t.Parallel()
			b := newLadderBench(t, server, r)
			b.sell(t)
			var all []string
			for _, cmd := range b.log {
				byName, byEffect := asTraced(cmd), b.looker.Traced(cmd)
				assert.Equal(t, meaning(byName), meaning(byEffect...), "%s %q: %s: %+v", cmd.Name, cmd.Args, cmd.Reply, byEffect)
				all = append(all, meaning(byEffect...)...)
				if byName.Acquires() && !byName.Succeeded() && byName.OnLock() {
					all = append(all, map[bool]string{true: "tried"}[byEffect[0].Effect == history.EffectTried])
				}
			}
			assert.Subset(t, all, b.expected(), "%q", all)
		})
	}
}

// meaning describes commands by their predicates, to compare a rung's own trace with the looks.
func meaning(cmds ...history.Command) (words []string) {
	for _, c := range cmds {
		switch {
		case c.Wrote():
			words = append(words, "wrote")
		case c.RefusedByStock():
			words = append(words, "refused")
		case c.ReadsStock():
			words = append(words, "read")
		case !c.OnLock() || !c.Succeeded():
		case c.Acquires() && c.Endless():
			words = append(words, "acquired without a TTL")
		case c.AcquiresAlone():
			words = append(words, "acquired")
		case c.Acquires():
			words = append(words, "acquired beside others")
		case c.Prolongs():
			words = append(words, "renewed")
		case c.Releases():
			words = append(words, "released")
		}
	}
	slices.Sort(words)
	return words
}

// asTraced returns a command in the form of a trace, where a transaction is named by its write.
func asTraced(cmd *wire.Command) history.Command {
	c := cmd.Traced()
	if cmd.Name == "exec" {
		if c.Cmd = cmd.Args[0]; c.Reply == "(nil)" {
			c.Err = history.StockChanged
		}
		c.Reply = "OK"
	}
	return c
}

// A ladderBench has two instances of the service, which reach one server over wires, and sell one product on one rung.
type ladderBench struct {
	rung    lock.Rung
	product string
	gate    *wire.Gate

	commands []string // that rungs ask for, and the server knows

	clients []*schedule.Client
	shops   []*sale.Shop
	looker  *wire.Looker
	log     []*wire.Command // that were carried out, in order
}

func newLadderBench(t *testing.T, server *backendtest.Server, r lock.Rung) *ladderBench {
	t.Helper()
	b := &ladderBench{rung: r, product: "of-" + r.Number, gate: wire.NewGate(trace.ScriptNames())}
	direct, ok := backendtest.Client(t, server).(*redis.Client)
	require.True(t, ok)
	b.commands = lock.AskCommands(t.Context(), direct, b.product)
	shelf := stock.NewShelf(direct)
	_, err := shelf.Open(t.Context(), b.product, 10, 0)
	require.NoError(t, err)
	ledger, err := wire.NewLedger(t.Context(), direct, wire.Shelf{Key: stock.Key(b.product)})
	require.NoError(t, err)
	t.Cleanup(ledger.Close)
	of := wire.Lock{Key: wire.Key{Name: r.Key(b.product)}, Rest: wire.KeyState{Kind: "none"}}
	b.looker = wire.NewLooker(ledger, []wire.Lock{of})
	for i := range 2 {
		b.add(t, i, server, direct.Options().Addr)
	}
	return b
}

// add adds an instance. A command may wait at the gate for longer than a client of the service usually waits.
func (b *ladderBench) add(t *testing.T, i int, server *backendtest.Server, address string) {
	t.Helper()
	client := &schedule.Client{Index: i, Name: schedule.ClientName(i)}
	w, err := wire.New(b.gate, client, &schedule.Server{Name: "stock", Host: address}, time.Second)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	u.Host = w.Host()
	rdb, err := backend.Open(u.String(), backend.Options{Timeout: time.Minute, PoolSize: 32})
	require.NoError(t, err)
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(trace.Observer{Names: trace.ScriptNames()}.Redis(address))
	life, end := context.WithCancel(context.Background())
	backends := lock.Backends{Redis: rdb, Redlock: []redis.UniversalClient{rdb}, RedlockRetry: 20 * time.Millisecond,
		RedlockTimeout: time.Minute, Commands: b.commands, Process: lock.Process{Life: life, Background: new(sync.WaitGroup)}}
	t.Cleanup(func() {
		b.gate.OpenAll()
		end()
		backends.Background.Wait()
	})
	b.clients = append(b.clients, client)
	b.shops = append(b.shops, sale.New(client.Name, []lock.Rung{b.rung}, stock.NewShelf(rdb), backends,
		sale.NewMetrics(client.Name), slog.New(slog.DiscardHandler)))
}

// sell sells one unit at each instance.
func (b *ladderBench) sell(t *testing.T) {
	t.Helper()
	b.gate.Begin()
	var orders sync.WaitGroup
	receipts, errs := make([]sale.Receipt, len(b.shops)), make([]error, len(b.shops))
	for i, shop := range b.shops {
		orders.Go(func() {
			wait := time.Minute
			receipts[i], errs[i] = shop.Decrease(context.Background(), b.rung.Number, sale.Order{
				Product: b.product, Quantity: 1, Wait: &wait, Trace: true, Options: lock.Options{TTL: 4 * time.Second}})
		})
	}
	sold := make(chan struct{})
	go func() {
		orders.Wait()
		close(sold)
	}()
	for done := false; !done; {
		select {
		case <-sold:
			done = true
		case <-time.After(time.Millisecond):
		}
		for _, c := range b.clients {
			for _, cmd := range b.gate.Of(c) {
				b.letThrough(t, cmd)
			}
		}
	}
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, b.looker.Err())
	for _, receipt := range receipts {
		for _, e := range receipt.Trace {
			if told := (history.Command{Cmd: e.Cmd, Key: e.Key}); told.OnLock() || told.ReadsStock() || told.WritesStock() {
				assert.True(t, slices.ContainsFunc(b.log, func(cmd *wire.Command) bool {
					c := asTraced(cmd)
					return c.Cmd == e.Cmd && c.Key == e.Key
				}), "%s %s was not looked at", e.Cmd, e.Key)
			}
		}
	}
}

// letThrough lets a command pass, with a look before and after, unless it is a write that must wait.
func (b *ladderBench) letThrough(t *testing.T, cmd *wire.Command) {
	t.Helper()
	if cmd.WritesStock() && !b.seenEnough(cmd) {
		return
	}
	b.looker.Around(cmd, func() {
		b.gate.Decide(cmd, schedule.Pass)
		select {
		case <-cmd.Done():
		case <-time.After(time.Minute):
			t.Errorf("%s has no reply", cmd.Text())
		}
	})
	if b.looker.Traced(cmd)[0].Source == history.Looked {
		b.log = append(b.log, cmd)
	}
}

// seenEnough reports whether the first order to write has renewed its lock, and the other one has found it taken.
func (b *ladderBench) seenEnough(write *wire.Command) bool {
	if !b.locks() || slices.ContainsFunc(b.log, func(cmd *wire.Command) bool { return cmd.WritesStock() }) {
		return true
	}
	renewed, tried := !b.renews(), false
	for _, cmd := range b.log {
		c := cmd.Traced()
		renewed = renewed || c.Renews() && c.Succeeded()
		tried = tried || c.Acquires() && cmd.Client != write.Client
	}
	return renewed && tried
}

func (b *ladderBench) locks() bool {
	return b.sends("set/lock") || b.sends("setnx") || b.sends("eval:acquire")
}

func (b *ladderBench) renews() bool { return b.sends("eval:renew") }

// sends reports whether the rung sends a command whose name has this prefix.
func (b *ladderBench) sends(prefix string) bool {
	return slices.ContainsFunc(strings.Fields(b.rung.Sends), func(sent string) bool {
		return strings.HasPrefix(sent, prefix)
	})
}

// expected returns what meaning must at least report of the rung.
func (b *ladderBench) expected() []string {
	words := []string{"wrote"}
	if b.locks() {
		words = append(words, "released")
		switch b.rung.Number {
		case "v1":
			words = append(words, "acquired without a TTL", "tried")
		case "v1.5":
			words = append(words, "acquired without a TTL", "renewed", "tried")
		case "v11-two":
			words = append(words, "acquired", "acquired beside others")
		default:
			words = append(words, "acquired", "tried")
		}
	}
	if b.renews() {
		words = append(words, "renewed")
	}
	return words
}
