package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/internal/sale"
)

// Bounds limit what a client may ask for.
type Bounds struct {
	MaxWork, MaxTTL, MaxWait time.Duration
	MaxQuantity              int64
	DefaultTTL               time.Duration
	DefaultWait              *time.Duration // nil: the rung's default
}

// MaxStock bounds the units of a product.
const MaxStock = 1_000_000_000

// The bounds of the TTL of a product.
const (
	minStockTTL = time.Second
	MaxStockTTL = 30 * 24 * time.Hour
)

const (
	defaultProduct = "10000"
	minTTL         = 10 * time.Millisecond // below it a lease ends before its first command has returned
	maxBody        = 4 << 10
	maxPermits     = 100
)

// IsName reports whether a text may name a product or an order: 1 to 64 letters, digits, _ or -. Each order needs it
// twice, so it is not a regular expression, which takes about a microsecond.
func IsName(text string) bool {
	return text != "" && len(text) <= 64 && strings.IndexFunc(text, notInName) < 0
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// errBadInput marks an error of the request.
var errBadInput = errors.New("bad input")

func badInput(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errBadInput}, args...)...)
}

// errEncoding means that a body is compressed. A few hundred bytes need no compression, and a small compressed body can
// expand without limit.
var errEncoding = errors.New("a body has to be sent uncompressed, without Content-Encoding")

// params holds the values of parameters as text.
type params map[string]string

// layers holds the parameters of a request: those of the query that the body overrides, and those that take effect. All
// have to be valid.
type layers [2]params

// readParams reads the known parameters from the query and a JSON body. It refuses unknown parameters, so that a
// misspelt quantity does not silently sell one unit, and repeated ones, because one of the two would be ignored. If
// both the query and the body give a parameter, the body wins.
func readParams(r *http.Request, known ...string) (l layers, err error) {
	query, err := readQuery(r, known...)
	if err != nil {
		return l, err
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return l, errEncoding
	}
	p, err := readBody(r.Body)
	if err != nil {
		return l, err
	}
	if err := p.only(known); err != nil || len(p) == 0 {
		return layers{nil, query}, err
	}
	overridden := params{}
	for name, value := range query {
		if _, wins := p[name]; wins {
			overridden[name] = value
		} else {
			p[name] = value
		}
	}
	return layers{overridden, p}, nil
}

// readQuery reads the parameters of a query. It refuses unknown and repeated ones.
func readQuery(r *http.Request, known ...string) (params, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badInput("the query does not parse")
	}
	if v := query[pretty]; len(v) == 1 && v[0] == "" { // it is no parameter of the order
		delete(query, pretty)
	}
	p := params{}
	for name, values := range query {
		if len(values) > 1 {
			return nil, badInput("%q is given %d times", name, len(values))
		}
		p[name] = values[0]
	}
	return p, p.only(known)
}

// only refuses unknown parameters.
func (p params) only(known []string) error {
	for name := range p {
		switch {
		case len(known) == 0:
			return badInput("unknown parameter %q; there are none here", name)
		case !slices.Contains(known, name):
			return badInput("unknown parameter %q; known are %v", name, known)
		}
	}
	return nil
}

// readBody reads a JSON object, which is flat except for items.
func readBody(body io.Reader) (params, error) {
	if body == http.NoBody {
		return nil, nil
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, badInput("the body cannot be read: %w", err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return params{}, nil
	}
	if !json.Valid(data) {
		return nil, badInput("the body is not valid JSON")
	}
	var members object
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	return members.params()
}

// An object is a JSON object without repeated names.
type object map[string]json.RawMessage

var errNoObject = badInput("the body must be a JSON object, and items a list of objects")

// UnmarshalJSON refuses a repeated name, of which encoding/json would take the last value.
func (o *object) UnmarshalJSON(valid []byte) error {
	*o = object{}
	d := json.NewDecoder(bytes.NewReader(valid))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errNoObject
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // JSON allows nothing else here
		if _, seen := (*o)[name]; seen {
			return badInput("%q is given twice in the body", name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		(*o)[name] = value
	}
	return nil
}

// params returns the members as the texts that a query would have.
func (o object) params() (params, error) {
	p := params{}
	for name, value := range o {
		text, err := string(value), error(nil)
		switch {
		case value[0] == '"':
			err = json.Unmarshal(value, &text)
		case value[0] == '[' && name == "items":
			text, err = itemsText(value)
		case strings.IndexByte("{[n", value[0]) >= 0:
			err = badInput("%q must be a text, a number, true or false", name)
		}
		if err != nil {
			return nil, err
		}
		p[name] = text
	}
	return p, nil
}

// order turns the parameters of a decrease into an order, and refuses values out of bounds.
func (b Bounds) order(l layers) (o sale.Order, err error) {
	if len(l[0]) > 0 {
		if _, err := b.orderOf(l[0]); err != nil {
			return sale.Order{}, err
		}
	}
	return b.orderOf(l[1])
}

func (b Bounds) orderOf(p params) (o sale.Order, err error) {
	o = sale.Order{Product: defaultProduct, Quantity: 1, Wait: b.DefaultWait}
	o.TTL = b.DefaultTTL
	if product, ok := p["product"]; ok {
		o.Product = product
	}
	if err := checkProduct(o.Product); err != nil {
		return o, err
	}
	if _, waits := p["wait"]; waits {
		o.Wait = new(time.Duration)
	}
	renew := true
	err = errors.Join(
		p.integer("quantity", &o.Quantity, 1, b.MaxQuantity),
		p.duration("wait", o.Wait, 0, b.MaxWait),
		p.duration("ttl", &o.TTL, minTTL, b.MaxTTL),
		p.duration("work", &o.Work, 0, b.MaxWork),
		p.boolean("trace", &o.Trace),
		p.boolean("renew", &renew),
		p.boolean("nested", &o.Nested),
		p.integer("caller", &o.Caller, 1, math.MaxInt32),
		b.items(p, &o),
		p.integer("permits", &o.Permits, 1, maxPermits),
	)
	o.NoRenew = !renew
	return o, err
}

func checkProduct(product string) error {
	if !IsName(product) {
		return badInput("a product is 1 to 64 letters, digits, _ or -")
	}
	return nil
}

func (p params) integer(name string, to *int64, low, high int64) error {
	text, ok := p[name]
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return badInput("%s must be a whole number from %d to %d", name, low, high)
	}
	*to = n
	return nil
}

func (p params) duration(name string, to *time.Duration, low, high time.Duration) error {
	text, ok := p[name]
	if !ok {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < low || d > high {
		return badInput("%s must be a duration such as 250ms or 2s, from %v to %v", name, low, high)
	}
	*to = d
	return nil
}

func (p params) boolean(name string, to *bool) error {
	text, ok := p[name]
	if !ok {
		return nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return badInput("%s must be true or false", name)
	}
	*to = v
	return nil
}
