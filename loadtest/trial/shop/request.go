package shop

import (
	"fmt"
	"regexp"
)

// A Request orders a unit: POST /buy {"sku":"{product}"}. In its path and body {product} is the product, {i} a number
// from 1 on and {order} a name that differ in every order, and {ms} how long its work takes. Instead, a shell command
// may order it: see [Order.run].
type Request struct{ Method, Path, Body, Program string }

// IsProgram reports whether a shell command orders the unit.
func (r *Request) IsProgram() bool { return r.Program != "" }

// String returns what sends an order, such as POST /buy.
func (r *Request) String() string {
	if r.IsProgram() {
		return "the order's program"
	}
	return r.Method + " " + r.Path
}

var requestLine = regexp.MustCompile(`^([A-Z]+) (/\S*)(?: (.+))?$`)

// ParseRequest parses a method, a path and, if there is one, a body.
func ParseRequest(text string) (r Request, err error) {
	m := requestLine.FindStringSubmatch(text)
	if m == nil {
		return r, fmt.Errorf("%q is not a request such as POST /decrease, or POST /buy {\"sku\":\"{product}\"}", text)
	}
	return Request{Method: m[1], Path: m[2], Body: m[3]}, nil
}

// A Header is sent with every order. Its value may have the placeholders of a [Request].
type Header struct{ Name, Value string }

var headerLine = regexp.MustCompile("^([\\w!#$%&'*+.^`|~-]+):[ \t]*([\t -~\u0080-\U0010ffff]*)$")

// ParseHeader parses a name, a colon and a value.
func ParseHeader(text string) (h Header, err error) {
	m := headerLine.FindStringSubmatch(text)
	if m == nil {
		return h, fmt.Errorf("%q is not a header such as Authorization: Bearer t", text)
	}
	return Header{m[1], m[2]}, nil
}
