package handlers

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/sale"
)

// productPattern matches the names that isName must accept, and no others.
var productPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func TestNamesAreShortAndPlain(t *testing.T) {
	for _, text := range []string{"", "a", "Z", "0", "_", "-", "a b", "a\n", "ä", "\x80", "a/", ":", "@", "[", "`", "{",
		strings.Repeat("x", 64), strings.Repeat("x", 65), "10000", "a\x00", strings.Repeat("x", 63) + "."} {
		assert.Equal(t, productPattern.MatchString(text), IsName(text), "%q", text)
	}
	for r := range rune(0x100) {
		assert.Equal(t, productPattern.MatchString(string(r)), IsName(string(r)), "%q", r)
	}
}

// decode reads an order from a request.
func decode(query, body string) (sale.Order, error) {
	r := httptest.NewRequest(http.MethodPost, "/v4/decrease", strings.NewReader(body))
	r.URL.RawQuery = query
	l, err := readParams(r, "product", "quantity", "items", "wait", "ttl", "work", "trace", "permits", "renew")
	if err != nil {
		return sale.Order{}, err
	}
	return testBounds().order(l)
}

func TestTheBodyWinsOverTheQuery(t *testing.T) {
	o, err := decode("quantity=1&ttl=5s", `{"quantity": 2, "wait": "250ms", "trace": true}`)
	require.NoError(t, err)
	assert.EqualValues(t, 2, o.Quantity)
	assert.Equal(t, 5*time.Second, o.TTL)
	assert.Equal(t, 250*time.Millisecond, *o.Wait)
	assert.True(t, o.Trace)
	assert.Equal(t, defaultProduct, o.Product)
}

func TestWithoutParametersAnOrderHasTheDefaults(t *testing.T) {
	o, err := decode("", "")
	require.NoError(t, err)
	assert.Nil(t, o.Wait, "the rung decides")
	assert.Equal(t, testBounds().DefaultTTL, o.TTL)
	assert.EqualValues(t, 1, o.Quantity)
	assert.False(t, o.NoRenew)
}

// A semaphore without a permit, or with more than there are, is no semaphore.
func TestPermitsAreBounded(t *testing.T) {
	for _, n := range []string{"0", "-1", "101", "many", "1.5"} {
		_, err := decode("permits="+n, "")
		require.ErrorIs(t, err, errBadInput)
		assert.ErrorContains(t, err, "permits must be a whole number from 1 to 100")
	}
	o, err := decode("permits=2", "")
	require.NoError(t, err)
	assert.EqualValues(t, 2, o.Permits)
}

// A lease is renewed by default.
func TestAnOrderMayLeaveItsLeaseUnrenewed(t *testing.T) {
	for text, want := range map[string]bool{"true": false, "false": true} {
		o, err := decode("renew="+text, "")
		require.NoError(t, err)
		assert.Equal(t, want, o.NoRenew)
	}
	_, err := decode("renew=never", "")
	require.ErrorIs(t, err, errBadInput)
	assert.ErrorContains(t, err, "renew must be true or false")
}

// Every request is either refused as bad input or an order within the bounds. A body that the standard library does not
// accept as JSON is refused.
func FuzzDecreaseRequest(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"quantity=1", `{"quantity":2}`}, {"wait=1s&ttl=1s", `{}`}, {"quantity=1&quantity=1", ""},
		{"", `{"quantity":1,"quantity":1}`}, {"", `{"product":"a\u0000b"}`}, {"", `{"quantity":1e309}`}, {"%zz", "{"},
		{"", `{"a":{"b":[1]}}`}, {"", `{"trace":true} {}`}, {"quantity=-9223372036854775809", "null"},
		{"items=a:1,b", ""}, {"", `{"items":[{"product":"a","quantity":2},{"product":"b"}]}`}, {"items=a,a", ""},
		{"", `{"items":[{"items":[]}]}`}, {"", `{"items":[{"product":"a,b"}]}`}, {"",
			`{"items":[{"product":"a","quantity":"1,b:2"}]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, query, body string) {
		o, err := decode(query, body)
		if err != nil {
			if !errors.Is(err, errBadInput) {
				t.Fatalf("%q %q: %v is not bad input", query, body, err)
			}
			return
		}
		if strings.TrimSpace(body) != "" && !json.Valid([]byte(body)) {
			t.Fatalf("%q was taken for JSON", body)
		}
		if !within(testBounds(), o) {
			t.Fatalf("%q %q: %+v is out of bounds", query, body, o)
		}
	})
}

func within(b Bounds, o sale.Order) bool {
	var wait time.Duration
	if o.Wait != nil {
		wait = *o.Wait
	}
	return itemsWithin(b, o) && productPattern.MatchString(o.Product) && o.Quantity >= 1 && o.Quantity <= b.MaxQuantity &&
		o.TTL >= minTTL && o.TTL <= b.MaxTTL && o.Work >= 0 && o.Work <= b.MaxWork && wait >= 0 && wait <= b.MaxWait
}

func itemsWithin(b Bounds, o sale.Order) bool {
	seen := map[string]bool{}
	for _, item := range o.Items {
		if seen[item.Product] || !productPattern.MatchString(item.Product) || item.Quantity < 1 ||
			item.Quantity > b.MaxQuantity {
			return false
		}
		seen[item.Product] = true
	}
	return len(o.Items) <= maxItems
}
