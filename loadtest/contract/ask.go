package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// answerTimeout bounds the time for an answer.
	answerTimeout = 15 * time.Second
	// maxBody bounds the size of an answer.
	maxBody = 4 << 20
)

// An answer is the result of one request.
type answer struct {
	status int
	body   []byte
	// doc is the body as JSON, nil if it is not JSON.
	doc any
	err error
}

// ask sends a request. It always returns an answer, whatever happens.
func (c *checker) ask(ctx context.Context, method, path, body string, header http.Header) answer {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode}
	a.body, a.err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	reader := json.NewDecoder(bytes.NewReader(a.body))
	reader.UseNumber()
	if reader.Decode(&a.doc) != nil || !json.Valid(a.body) {
		a.doc = nil
	}
	return a
}

// administer calls an admin route, with the token if there is one.
func (c *checker) administer(ctx context.Context, method, path, body string) answer {
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	return c.ask(ctx, method, path, body, header)
}

// order sends an order as loadtest does, with all parameters that it ever sends to instances that it did not start.
func (c *checker) order(ctx context.Context, id string, quantity int64, wait, work time.Duration) answer {
	q := url.Values{
		"product": {c.Product}, "quantity": {strconv.FormatInt(quantity, 10)}, "trace": {"true"},
		"wait": {wait.String()}, "ttl": {"30s"}, "work": {work.String()},
	}
	header := http.Header{"X-Request-Id": {id}}
	return c.ask(ctx, http.MethodPost, "/"+c.Rung+"/decrease?"+q.Encode(), "", header)
}

// describe renders an unexpected answer in a few words.
func (a answer) describe() string {
	if a.err != nil {
		return "no answer: " + a.err.Error()
	}
	text := fmt.Sprintf("answered %d %s", a.status, http.StatusText(a.status))
	if detail, is := find(a.doc, "detail")[0].(string); is {
		text += ", " + detail
	}
	return text
}

// text returns the text at a path of the answer, "" if there is none.
func (a answer) text(path string) string {
	s, _ := find(a.doc, path)[0].(string)
	return s
}

// whole returns the whole number at a path of the answer, -1 if there is none.
func (a answer) whole(path string) int64 { return asWhole(find(a.doc, path)[0]) }

func asWhole(v any) int64 {
	n, _ := v.(json.Number)
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return i
}
