package shop

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Values of headers are hidden in whatever form a shop repeats them.
func TestMask(t *testing.T) {
	for _, one := range []struct{ header, text, want string }{
		{"Authorization: Bearer t0p-s3cret", `{"you":"Bearer t0p-s3cret"}`, `{"you":"***"}`},
		{"Authorization: Bearer t0p-s3cret", "lock:t0p-s3cret, lock:10000", "lock:***, lock:10000"},
		{"Authorization: Bearer t0p/s3cr=t", "?t=t0p%2Fs3cr%3Dt&u=dDBwL3MzY3I9dA==", "?t=***&u=***"},
		{"Authorization: Basic dXNlcjpoaWRkZW4=", "user:hidden dXNlcjpoaWRkZW4= hidden", "*** *** ***"},
		{"Cookie: sid=\"abc123\"; theme=dark", `sid abc123, dark`, `sid ***, ***`},
		{"X-Key: a\"b<c", `{"key":"a\"b<c"} <p>a&#34;b&lt;c</p>`, `{"key":"***"} <p>***</p>`},
		{"X-Customer: customer-{i}", "customer-1764336 bought 1764336", "*** bought 1764336"},
		{"X-Customer: cust/{order}/{product}", "to cust%2Fanna-17%2F10000", "to ***"},
		{"X-Token: eyJhbGciOiJIUzI1NiJ9", "session:eyJhbGciOi… (400 bytes)", "session:*** (400 bytes)"},
		{"X-Customer: {i}", "customer 17", "customer 17"}, // a number is no secret
		{"X-Shop: 7", "7 units", "7 units"},
		{"X-User: über", "der über", "der ***"},
	} {
		h, err := ParseHeader(one.header)
		require.NoError(t, err)
		m := NewMask([]Header{h})
		assert.Equal(t, one.want, m.Text(one.text), one.header)
	}
	assert.Equal(t, "a b", NewMask(nil).Text("a b"))
}
