package handlers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// newInstance returns the handler of an instance as stockapi builds it without flags or with --redis-pipelining, but
// with a timeout that a busy machine does not reach.
func newInstance(t testing.TB, redisAddr string, pipelined bool) http.Handler {
	t.Helper()
	m, log := sale.NewMetrics("a"), slog.New(slog.NewTextHandler(io.Discard, nil))
	client, err := backend.Open("redis://"+redisAddr, backend.Options{Timeout: time.Minute, PoolSize: 64})
	if err != nil {
		t.Fatal(err)
	}
	client.AddHook(trace.Observer{Names: trace.ScriptNames(), Count: m.Commands.Inc}.Redis(redisAddr))
	t.Cleanup(closing(client))
	if pipelined {
		client = pipelinedFace(t, client)
	}
	life, end := context.WithCancel(context.Background())
	var background sync.WaitGroup
	shelf := stock.NewShelf(client)
	shop := sale.New("a", lock.Ladder(), shelf, lock.Backends{Redis: client,
		Process: lock.Process{Life: life, Background: &background, OnRenew: m.OnRenew}}, m, log)
	t.Cleanup(func() {
		end()
		background.Wait()
	})
	return New(shop, &fakeShop{}, Config{Instance: "a", Hosts: Hosts{Names: []string{"127.0.0.1"}}, Bounds: testBounds(),
		Orders: 10_000, Ready: func(context.Context) error { return nil }, Metrics: m, Log: log})
}

// closing closes the client itself, and not a face of it.
func closing(client io.Closer) func() { return func() { _ = client.Close() } }

func pipelinedFace(t testing.TB, client redis.UniversalClient) redis.UniversalClient {
	t.Helper()
	face, err := backend.Pipelined(client)
	if err != nil {
		t.Fatal(err)
	}
	return face
}

// minimalScript does what that of v17 does, without its checks.
var minimalScript = redis.NewScript("return {1, redis.call('DECRBY', KEYS[1], ARGV[1])}")

// minimal returns a handler that sells by one script and does nothing else: what gin and go-redis cost.
func minimal(t testing.TB, redisAddr string, pipelined bool) http.Handler {
	t.Helper()
	var client redis.UniversalClient = redis.NewClient(&redis.Options{Addr: redisAddr, Protocol: 2, DisableIdentity: true,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, PoolTimeout: time.Minute})
	t.Cleanup(closing(client))
	if pipelined {
		client = pipelinedFace(t, client)
	}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.POST("/:rung/decrease", func(c *gin.Context) {
		key := stock.Key(c.DefaultQuery("product", defaultProduct))
		reply, err := minimalScript.Run(c.Request.Context(), client, []string{key}, 1).Int64Slice()
		if err != nil {
			_ = c.AbortWithError(http.StatusInternalServerError, err)
			return
		}
		c.JSON(http.StatusOK, gin.H{"left": reply[1]})
	})
	return r
}

// serveOn serves on a loopback port until the test ends.
func serveOn(t testing.TB, server *http.Server) (addr string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// A buyer sends the same order again and again on one connection. It allocates nothing for it.
type buyer struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
}

func newBuyer(t testing.TB, addr, rung, product string) *buyer {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	request := fmt.Sprintf("POST /%s/decrease?product=%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: buyer\r\n"+
		"Content-Length: 0\r\n\r\n", rung, product, addr)
	return &buyer{conn: conn, in: bufio.NewReader(conn), request: []byte(request)}
}

var errRefused = errors.New("the order was refused")

// buy sends the order and reads the answer.
func (b *buyer) buy() error {
	if _, err := b.conn.Write(b.request); err != nil {
		return err
	}
	status, err := b.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("%w: %s", errRefused, status)
	}
	length := 0
	for {
		line, err := b.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == len("\r\n") {
			_, err = b.in.Discard(length)
			return err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
}

// contenders are compared by the benchmarks: the minimal handler, and rungs of an instance, by themselves and over
// automatic pipelining.
var contenders = []string{"minimal", "v17", "v4", "v18", "minimal" + pipelined, "v17" + pipelined}

const pipelined = "-pipelined"

// bare is a route of gin that answers at once: what HTTP costs.
func bare() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.POST("/:rung/decrease", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"left": 1}) })
	return r
}

// limits returns what a contender is compared with.
func limits(name string) []string {
	if strings.HasSuffix(name, pipelined) {
		return []string{"minimal" + pipelined, "bare"}
	}
	return []string{"minimal"}
}

// newBuyerFrom returns a buyer from a contender.
func newBuyerFrom(t testing.TB, redisAddr, name, product string) *buyer {
	t.Helper()
	return newBuyer(t, startContender(t, redisAddr, name), strings.TrimSuffix(name, pipelined), product)
}

// startContender returns the address of a server with the handler of that name. That of the instance has the timeouts
// of stockapi.
func startContender(t testing.TB, redisAddr, name string) (addr string) {
	t.Helper()
	rung, overPipeline := strings.CutSuffix(name, pipelined)
	switch rung {
	case "bare":
		return serveOn(t, &http.Server{Handler: bare()})
	case "minimal":
		return serveOn(t, &http.Server{Handler: minimal(t, redisAddr, overPipeline)})
	}
	return serveOn(t, &http.Server{Handler: newInstance(t, redisAddr, overPipeline), ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10})
}

// A decrease allocates hardly more than its commands and HTTP need. The minimal handler is measured beside it, because
// the allocations of gin, go-redis and net/http change with their versions.
func TestADecreaseAllocatesLittle(t *testing.T) {
	backendtest.Long(t)
	if backendtest.RaceDetected {
		t.Skip("the race detector empties pools at random")
	}
	redisAddr := startInstantRedis(t).addr
	allocations := func(name string) float64 {
		buyer := newBuyerFrom(t, redisAddr, name, "p")
		buy := func() { require.NoError(t, buyer.buy()) }
		for range 100 { // until connections are open and buffers have grown
			buy()
		}
		return testing.AllocsPerRun(500, buy)
	}
	least := allocations("minimal")
	for name, most := range map[string]float64{"v17": 4, "v4": 48, "v18": 144} {
		assert.LessOrEqual(t, allocations(name)-least, most,
			"%s allocates so much more than a handler that does nothing else", name)
	}
}

// BenchmarkDecrease is one sale at a time over HTTP, from the socket of the client to the script and back.
//
//	go test -run '^$' -bench Decrease$ ./internal/handlers
func BenchmarkDecrease(b *testing.B) {
	for _, name := range contenders {
		b.Run(name, func(b *testing.B) {
			buyer := newBuyerFrom(b, startInstantRedis(b).addr, name, "p")
			b.ReportAllocs()
			for b.Loop() {
				if err := buyer.buy(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecreaseBesideMinimal compares the sales of 16 clients a second with those of the minimal handler, and over
// automatic pipelining also with the answers of a bare route. A machine that is busy is busy for all: they take turns,
// and what counts is the median of the rounds.
//
//	go test -run '^$' -bench BesideMinimal -benchtime 101x ./internal/handlers
func BenchmarkDecreaseBesideMinimal(b *testing.B) {
	const clients, sales = 16, 100 // of each client in a round
	for _, name := range contenders {
		if strings.HasPrefix(name, "minimal") {
			continue
		}
		b.Run(name, func(b *testing.B) {
			redisAddr, rung := startInstantRedis(b).addr, strings.TrimSuffix(name, pipelined)
			ours := newBuyers(b, startContender(b, redisAddr, name), rung, clients)
			theirs, ratios := map[string][]*buyer{}, map[string][]float64{}
			for _, limit := range limits(name) {
				theirs[limit] = newBuyers(b, startContender(b, redisAddr, limit), rung, clients)
			}
			for b.Loop() {
				took := float64(buyAll(b, ours, sales))
				for limit, buyers := range theirs {
					ratios[limit] = append(ratios[limit], float64(buyAll(b, buyers, sales))/took)
				}
			}
			for limit, all := range ratios {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], "of-"+strings.TrimSuffix(limit, pipelined))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func newBuyers(t testing.TB, addr, rung string, n int) (all []*buyer) {
	t.Helper()
	for i := range n {
		all = append(all, newBuyer(t, addr, rung, fmt.Sprint("p", i)))
	}
	return all
}

// buyAll returns how long it takes until each of the buyers has bought so often.
func buyAll(t testing.TB, all []*buyer, times int) time.Duration {
	t.Helper()
	begun := time.Now()
	var buying sync.WaitGroup
	for _, one := range all {
		buying.Go(func() {
			for range times {
				if err := one.buy(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	buying.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return time.Since(begun)
}
