package trial

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A planted is a foreign service, and what a trial of it has to find.
type planted struct {
	file  string
	kind  string // the shop's only argument; "" for none
	code  int    // the trial's exit code
	cause string // how the cause that it names begins; "" if there is no defect
	cell  string // the cells that show it; "": all quick ones are played
}

const (
	inPython = "testdata/planted/shop.py"
	inGo     = "testdata/right/shop.go"
	inNode   = "testdata/right/shop.js"

	telling = "two-instances,crash 1,delayed-release,key-removed 1,busy" // those that fail if the lock is mistaken
	brief   = "crash 1,delayed-release 1"                                // the same in half the time
)

// shops are one for each way in which a lock, its absence or how it is used is learned: correct ones, and ones with a
// defect where only that shows the way. Leases that nobody renews break under slow work and pauses: that is no defect.
var shops = []planted{
	{file: inPython, kind: "right"},
	{file: inPython, kind: "looks-twice", cell: "crash 1,slow-work,delayed-release,same-instance"},
	{file: inPython, kind: "reads-twice", cell: "crash 1,slow-work"},
	{file: inPython, kind: "renewed", cell: "crash 1,slow-work"},
	{file: inPython, kind: "fenced", cell: "crash 1,slow-work"},
	{file: inGo, cell: brief},
	{file: inNode, cell: brief},
	{file: inPython, kind: "copies", cell: brief},
	{file: inPython, kind: "lock-free"},
	{file: inPython, kind: "gauge-set", cell: brief},
	{file: inPython, kind: "healed", cell: brief},
	{file: inPython, kind: "kept", cell: brief},
	{file: inPython, kind: "cached", cell: brief},
	{file: inPython, kind: "counts-orders", cell: brief},
	{file: inPython, kind: "write-if-owner", cell: brief},
	{file: inPython, kind: "database1", cell: brief},
	{file: inPython, kind: "hash-renewed", cell: brief},
	{file: inPython, kind: "functions", cell: brief},
	{file: inPython, kind: "scored", cell: brief},
	{file: inPython, kind: "pops-and-polls", cell: brief},
	{file: inPython, kind: "majority", cell: brief},
	{file: inPython, kind: "buyers", cell: "two-instances"},
	{file: inPython, kind: "lock-free-gauge", cell: "two-instances"},
	{file: inPython, kind: "fills-cache", cell: brief},
	{file: inPython, kind: "beside", cell: brief},
	{file: inPython, kind: "takes-both", cell: "two-instances,crash 2"},
	{file: inPython, kind: "ticket", cell: "two-instances,pause"},
	{inPython, "setnx-expire", 1, "a second command sets the TTL", "crash 1"},
	{inPython, "nested", 1, "it releases the lock without comparing its value", "delayed-release 1"},
	{inPython, "shared-hash", 1, "the lock has no TTL", "crash 1"},
	{inPython, "beside-stock", 1, "the lock has no TTL", "crash 1"},
	{inPython, "token-list", 1, "the lock has no TTL", "crash 1"},
	{inPython, "pair", 1, "the lock has no TTL", "crash 1"},
	{inPython, "counter", 1, "it releases the lock without comparing its value", "delayed-release 1"},
	{inPython, "line", 1, "a dead waiter keeps its place in the queue", "crash 3"},
	{inPython, "sleeper", 1, "a waiter is never woken", "crash 1"},
	{inPython, "no-lock", 1, "no lock: it reads the stock and writes it in two steps", "two-instances"},
	{inPython, "no-lock-copies", 1, "no lock", "two-instances"},
	{inPython, "per-instance", 1, "each instance has a lock of its own", "two-instances"},
	{inPython, "shared-watch", 1, "orders share one connection for WATCH, and cancel each other's", "one-instance"},
	{inPython, "look-then-set", 1, "it checks that the lock is free and takes it in two commands", "two-instances"},
	{inPython, "one-value", 1, "one value for all orders of an instance", "delayed-release 2"},
}

// others add a defect to what these show, which a forged history of package cause has, too, or play all quick cells.
// They are played if STOCKAPI_REQUIRE names league.
var others = []planted{
	{file: inPython, kind: "looks-twice"},
	{file: inPython, kind: "reads-twice"},
	{file: inPython, kind: "renewed"},
	{file: inPython, kind: "fenced"},
	{file: inPython, kind: "gauge", cell: telling},
	{file: inPython, kind: "unavailable", cell: telling + ",error-reply,contended-acquire"},
	{file: inPython, kind: "makes-tables", cell: "two-instances"},
	{file: inGo},
	{file: inGo, kind: "-renew"},
	{file: inNode},
	{file: "../../examples/shop.py"},
	{"../../examples/tokenless_shop.py", "", 1, "it releases the lock without comparing its value", "delayed-release 1"},
	{inPython, "del-without-look", 1, "it releases the lock without comparing its value", "delayed-release 1"},
	{inPython, "nested-longer", 1, "it releases the lock without comparing its value", "delayed-release 1"},
	{inPython, "look-then-del", 1, "it compares and deletes in two commands", "check-delete-gap"},
	{inPython, "look-beside", 1, "it compares and deletes in two commands", "check-delete-gap"},
	{inPython, "releases-twice", 1, "it releases the lock twice", "check-delete-gap"},
	{inPython, "tidies-up", 1, "it releases the lock twice", "check-delete-gap"},
	{inPython, "unlock-first", 1, "it releases the lock before it writes the stock", "slow-work"},
	{inPython, "falls-through", 1, "it proceeds without the lock when its wait times out", "busy"},
	{inPython, "sells-anyway", 1, "it sells without ever holding the lock", "contended-acquire 1"},
	{inPython, "prefix", 1, "its release compares only part of the value", "delayed-release 1"},
	{inPython, "finally", 1, "it releases a lock that it never held", "busy"},
	{inPython, "told-no", 1, "it refuses an order whose unit it has taken", "error-reply 4"},
	{inPython, "renew-xx", 1, "a renewal takes another order's lock", "key-removed 1"},
	{inPython, "renew-again", 1, "a renewal recreates a lock that was gone", "key-removed 2"},
	{inPython, "decr-again", 1, "it retries the write when the reply is lost", "late"},
	{inPython, "per-customer", 1, "each order has a lock of its own", "two-instances"},
	{inPython, "no-ttl", 1, "the lock has no TTL", "crash 1"},
	{inPython, "short-lease", 1, "the lease expires during a plain sale", "two-instances"},
	{inPython, "renew-after", 1, "the lock is renewed after its order has ended", releaseLost},
	{inPython, "renews-on", 1, "the lock is renewed after its order has ended", releaseLost},
	{inPython, "too-few", 1, "the lock is granted with too few of its keys", "two-instances"},
	{inPython, "read-first", 1, "it reads the stock before it holds the lock", "two-instances"},
	{inPython, "remember", 1, "it writes the stock without having read it under the lock", "two-instances"},
	{inPython, "one-for-all", 1, "one value for all orders: any release passes the comparison", "delayed-release 2"},
	{inPython, "one-object", 1, "one lock object for all requests", "same-instance"},
	{inPython, "waiters-prolong", 1, "a waiter extends the holder's lease", "crash 1"},
	{inPython, "late-number", 1, "the stock sees the fencing token only on the write", "key-removed 1"},
	{inPython, "unchecked", 1, "the stock does not compare the fencing token", "slow-work"},
	{inPython, "wrong-way", 1, "the stock compares the fencing token the wrong way round", "slow-work"},
	{inPython, "hasty", 1, "a waiter is never woken", "delayed-reply 2"},
	{inPython, "popper", 1, "a waiter is never woken", "crash 1"},
	{inPython, "gauge-field", 1, "the lock has no TTL", "crash 1"},
	{inPython, "steps-back", 1, "the lock has no TTL", "crash 1"},
	{inPython, "answers-first", 1, "it answers before it writes the stock", "crash 2"},
	{inPython, "crashes", 1, "the shop crashes on its own", "error-reply 1"},
	{inPython, "dies-in-a-crowd", 1, "the shop crashes on its own", "two-instances"},
	{inPython, "no-lock-session", 1, "no lock: it reads the stock and writes it in two steps", "two-instances"},
	{inPython, "no-lock-beside", 1, "no lock: it reads the stock and writes it in two steps", "two-instances"},
}

// isLeague reports whether the tests play all planted shops.
func isLeague() bool {
	return slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), "league")
}

// played returns the shops that the tests play.
func played() []planted {
	if !isLeague() {
		return shops
	}
	all := slices.Concat(shops, others)
	for i := range all {
		all[i].cell = strings.Replace(all[i].cell, brief, telling, 1)
	}
	return all
}

// releaseLost loses the release of an order whose lock is renewed: a slow machine may put a renewal before it, so that
// it has no number.
const releaseLost = "a>release.lose-request-a.a>end.b>end"

// plain is a cell in which every shop sells to Bert: it says when he held the lock.
const plain = "request-lost 1"

// elsewhere are the locks of the planted shops that have another than lock:10000.
var elsewhere = map[string][]string{
	"lock-free": nil, "buyers": nil, "lock-free-gauge": nil, "no-lock": nil, "no-lock-copies": nil,
	"no-lock-session": nil, "no-lock-beside": nil, "ticket": nil,
	"per-customer": nil, "per-instance": nil, "shared-watch": nil,
	"nested": {"lock:10000", "outer:10000"}, "nested-longer": {"customer:7", "lock:10000"},
	"pair":      {"pair:10000:blue", "pair:10000:red"},
	"majority":  {"lock:10000:0", "lock:10000:1", "lock:10000:2"},
	"too-few":   {"lock:10000:0", "lock:10000:1", "lock:10000:2", "lock:10000:3"},
	"database1": {"lock:10000 of database 1"}, "shared-hash": {"locks[10000]"}, "gauge-field": {"locks[10000]"},
	"beside-stock": {"shelf[lock]"}, "token-list": {"tokens:10000"},
}

// breaks are the letters of planted shops in the cell that tells, where the defect would be named without them, too.
var breaks = map[string]string{"sells-anyway": "SE", "nested-longer": "R"}

// locks returns what the passport of a planted shop names.
func (s planted) locks() []string {
	if locks, known := elsewhere[s.kind]; known {
		return locks
	}
	return []string{"lock:10000"}
}

// options are those of a trial of the shop.
func (s planted) options(t *testing.T) Options {
	t.Helper()
	o := options(t, s.command(t)...)
	if s.kind == "beside-stock" {
		o.Shop.Stock = []string{"HSET", "shelf", "{product}", "{n}"}
	}
	if s.cell != "" {
		for cell := range strings.SplitSeq(s.cell+","+plain, ",") {
			if strings.Contains(cell, ">") {
				o.Play = append(o.Play, cell)
			} else {
				o.Only = append(o.Only, cell)
			}
		}
	}
	return o
}

func (s planted) String() string { return strings.TrimSpace(filepath.Base(s.file) + " " + s.kind) }

// command returns the command line of the shop. It skips the test if the machine lacks what the shop needs, or fails it
// if STOCKAPI_REQUIRE names that.
func (s planted) command(t *testing.T) (command []string) {
	t.Helper()
	switch filepath.Ext(s.file) {
	case ".py":
		command = []string{need(t, "python3", python()), s.file}
	case ".js":
		command = []string{need(t, "node", node()), s.file}
	case ".go":
		path, err := buildShop()
		require.NoError(t, err)
		command = []string{path}
	}
	if s.kind != "" {
		command = append(command, s.kind)
	}
	return command
}

// The interpreters that can load a client of Redis; "" if there is none. Debian's redis-py belongs to Debian's Python,
// and another Python may come before that on the PATH.
var (
	python = sync.OnceValue(func() string { return interpreter("-c", "import redis", "python3", "/usr/bin/python3") })
	node   = sync.OnceValue(func() string { return interpreter("-e", "require('redis')", "node") })
)

// interpreter returns the first program that can run the code.
func interpreter(flag, code string, programs ...string) string {
	for _, program := range programs {
		if exec.Command(program, flag, code).Run() == nil {
			return program
		}
	}
	return ""
}

// need returns the program unless there is none: then it skips the test, or fails it if STOCKAPI_REQUIRE has the name.
func need(t *testing.T, name, program string) string {
	t.Helper()
	switch {
	case program != "":
	case slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), name):
		t.Fatalf("needs %s and a client of Redis, and STOCKAPI_REQUIRE asks for it", name)
	default:
		t.Skipf("needs %s and a client of Redis", name)
	}
	return program
}

// start starts an instance, and returns where it sells once it listens. It ends with the test.
func (s planted) start(t *testing.T, redisURL string) (url string) {
	t.Helper()
	command, port := s.command(t), strconv.Itoa(backendtest.FreePort(t))
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "PORT="+port, "REDIS_URL="+redisURL), os.Stderr
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	address := net.JoinHostPort("127.0.0.1", port)
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		select {
		case <-ended:
			return true
		default:
			return err == nil
		}
	}, time.Minute, 10*time.Millisecond)
	return fmt.Sprintf("http://%s/decrease", address)
}

// sell sends an order, and returns the answer's status.
func sell(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Post(url, "", http.NoBody)
	if !assert.NoError(t, err) {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A shelf is the stock of a shop at a Redis.
type shelf struct {
	redis.UniversalClient
	wire.Shelf
}

func (s shelf) put(t *testing.T, n int) {
	t.Helper()
	if s.Field != "" {
		require.NoError(t, s.HSet(t.Context(), s.Key, s.Field, n).Err())
		return
	}
	require.NoError(t, s.Set(t.Context(), s.Key, n, 0).Err())
}

func (s shelf) isEmpty(t *testing.T) {
	t.Helper()
	left := s.Get(t.Context(), s.Key)
	if s.Field != "" {
		left = s.HGet(t.Context(), s.Key, s.Field)
	}
	assert.Equal(t, "0", left.Val())
}

// That orders of different customers have locks of their own is no defect of the lock. That they sell the same unit is
// one of the stock.
func TestTrialOfLocksOfDifferentCustomers(t *testing.T) {
	backendtest.Require(t)
	backendtest.Long(t)
	t.Parallel()
	o := planted{file: inPython, kind: "per-customer", cell: "two-instances"}.options(t)
	o.Shop.Order.Path += "?customer={order}"
	p, cells := try(t, o)
	assert.True(t, p.PerCustomer, p.String())
	for _, c := range cells {
		if c.Scenario != plain && assert.NotNil(t, c.Defect) {
			assert.True(t, strings.HasPrefix(c.Defect.Cause, "no lock"), c.Defect.Cause)
		}
	}
	assert.Contains(t, p.String(), "leave the customer out of the key")
}

// A shop breaks the same verdicts whether its orders are requests or programs.
func TestTrialsByProgram(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	for kind, want := range map[string]string{"right": " ", "del-without-look": "SER"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := planted{file: inPython, kind: kind, cell: "two-instances,delayed-release 1"}.options(t)
			o.Shop.Order = shop.Request{Program: python() + " testdata/planted/order.py {url}"}
			_, cells := try(t, o)
			for _, c := range cells {
				assert.Empty(t, c.WhyNot(), c.Scenario)
				if strings.HasPrefix(c.Scenario, "delayed-release") {
					assert.Equal(t, strings.TrimSpace(want), broken(c), c.Scenario)
				}
				assert.Equal(t, c.Scenario == "two-instances", c.Client.Overlapped != nil, c.Scenario)
			}
		})
	}
}

// Without a crowd and without a fault no shop shows a defect: only a trial triggers them.
func TestShopsSell(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	server := backendtest.StartRedis(t)
	rdb := backendtest.Client(t, server)
	for _, s := range played() {
		t.Run(s.String(), func(t *testing.T) {
			require.NoError(t, rdb.FlushAll(t.Context()).Err())
			stock := shelf{rdb, (&shop.Shop{Options: s.options(t).Shop}).Shelf()}
			stock.put(t, 3)
			url := s.start(t, server.URL)
			for range 3 {
				assert.Equal(t, http.StatusOK, sell(t, url))
			}
			assert.Equal(t, http.StatusConflict, sell(t, url))
			stock.isEmpty(t)
			if s.code == 0 {
				sellsToTwoAtOnce(t, stock, url, s.start(t, server.URL))
			}
		})
	}
}

// sellsToTwoAtOnce has two customers come at once, at two instances: each gets a unit of their own.
func sellsToTwoAtOnce(t *testing.T, stock shelf, urls ...string) {
	t.Helper()
	stock.put(t, 20)
	for range 10 {
		var both sync.WaitGroup
		for _, url := range urls {
			both.Go(func() { assert.Equal(t, http.StatusOK, sell(t, url)) })
		}
		both.Wait()
	}
	stock.isEmpty(t)
}
