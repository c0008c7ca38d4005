package shop

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/wire"
)

// Options say how a shop is started, how a unit is ordered there, and where its stock is.
type Options struct {
	Argv    []string // the command line of the shop
	Order   Request  // orders a unit
	Slow    *Request // orders a unit with work of {ms}; nil: there is none
	Headers []Header // of every order
	Stock   []string // the Redis command that puts {n} units of {product}; none if the stock is elsewhere
	Product string

	// Shell commands, "" if there is none: Set puts {n} units or, beside Stock, what else an order needs. If the stock is
	// elsewhere, Left prints how many units are left, and Sales how many sales are recorded. Setup prepares the database
	// once or, if it names the trial's Redis, each such Redis.
	Setup, Set, Left, Sales string
	Database                string // the host:port of the shop's database, "" if it is not proxied

	Literal cluster.Literal // the addresses in the shop's code, if it has any

	Units  int64          // for each cell; 0: as many as the cell needs
	Sold   *regexp.Regexp // matches the body of a sale, or the Location of a 3xx; nil: the status decides
	Within time.Duration  // for the start of an instance

	Say func(string) // reports progress
}

// A Shop is a service on trial: how it is started, how a unit is ordered there, and where its stock is.
type Shop struct {
	Options
	Bed   *rig.Testbed
	Sent  atomic.Int64 // the number of the last order
	Begun time.Time
	DB    int // the number of the stock's Redis database, as the first order has shown

	preparing sync.Mutex // held while a pair's Redis is prepared
}

const (
	// OnShelf is how many units are put for a cell without a crowd.
	OnShelf = 100
	// crowdShelf is how many units are put for each instance at which a crowd buys.
	crowdShelf = 15
)

// ErrShop is wrapped by errors of the shop, which cannot be tried.
var ErrShop = errors.New("the shop cannot be tried")

// New returns a shop on a testbed. What it says hides its headers.
func New(o Options, bed *rig.Testbed) *Shop {
	say := o.Say
	o.Say = func(text string) { say(NewMask(o.Headers).Text(text)) }
	return &Shop{Options: o, Bed: bed, Begun: time.Now()}
}

// Check returns an error if the stock cannot be put by its command, and read.
func (o *Options) Check() error {
	command := o.Stock
	text := strings.Join(command, " ")
	at := slices.Index(command, "{n}")
	switch {
	case o.IsElsewhere() && o.Set+o.Left+o.Database != "",
		at == 2 && strings.EqualFold(command[0], "SET"),
		at == 3 && (strings.EqualFold(command[0], "HSET") || strings.EqualFold(command[0], "HMSET")):
		return nil
	}
	return fmt.Errorf("--stock takes SET KEY {n} or HSET KEY FIELD {n}, not %q", text)
}

// IsElsewhere reports whether the stock is not in Redis.
func (o *Options) IsElsewhere() bool { return len(o.Stock) == 0 }

// IsShared reports whether all pairs share what is put for a cell: the stock, or what --set puts beside it.
func (o *Options) IsShared() bool { return o.IsElsewhere() || o.Set != "" && !namesRedis(o.Set) }

// Shelf returns where the stock is.
func (s *Shop) Shelf() wire.Shelf {
	if s.IsElsewhere() {
		return wire.Shelf{Key: "(the stock is elsewhere)"} // no shop has a key of that name
	}
	fill := func(text string) string { return strings.ReplaceAll(text, "{product}", s.Product) }
	at := wire.Shelf{Key: fill(s.Stock[1]), DB: s.DB}
	if len(s.Stock) > 3 {
		at.Field = fill(s.Stock[2])
	}
	return at
}

// UnitsFor returns how many units are put for a cell with a crowd at that many instances; 0: without a crowd.
func (s *Shop) UnitsFor(crowd int) int64 {
	if crowd == 0 {
		return cmp.Or(s.Units, OnShelf)
	}
	return cmp.Or(s.Units, crowdShelf*int64(crowd))
}

// Name returns the name of the shop: the first file in its command line after the program, or else the program, without
// folders.
func (s *Shop) Name() string {
	name := s.Argv[0]
	for _, arg := range s.Argv[1:] {
		if file, err := os.Stat(arg); err == nil && file.Mode().IsRegular() {
			name = arg
			break
		}
	}
	return history.Clip(path.Base(name))
}

// fill returns a replacer that fills in a request. No {i} or {order} is repeated in the whole trial: some shops sell
// only once to a customer. No {order} is repeated in the next trial either, since a database outlives a trial, and
// remembers its orders.
func (s *Shop) fill(name string, work time.Duration) *strings.Replacer {
	i, ms := strconv.FormatInt(s.Sent.Add(1), 10), strconv.FormatInt(work.Milliseconds(), 10)
	order := fmt.Sprintf("%s-%d-%s", name, s.Begun.UnixMilli()%1e9, i)
	return strings.NewReplacer("{product}", s.Product, "{order}", order, "{i}", i, "{ms}", ms)
}

// headers returns the user's headers, filled in for an order.
func (s *Shop) headers(fill *strings.Replacer) http.Header {
	all := http.Header{}
	for _, h := range s.Headers {
		all.Add(h.Name, fill.Replace(h.Value))
	}
	return all
}

// CustomersDiffer reports whether each order may be another customer's, since its request differs.
func (s *Shop) CustomersDiffer() bool {
	isNew := func(text string) bool { return strings.Contains(text, "{i}") || strings.Contains(text, "{order}") }
	return isNew(s.Order.Path) || isNew(s.Order.Body) || isNew(s.Order.Program) ||
		slices.ContainsFunc(s.Headers, func(h Header) bool { return isNew(h.Value) })
}
