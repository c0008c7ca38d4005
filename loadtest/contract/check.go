package contract

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Options configure a check.
type Options struct {
	// Base is the service's URL, and Token the token of its admin routes, if they need one.
	Base, Token string
	// Rung is the number of the rung to check. Empty: the first one that the service lists as available.
	Rung string
}

// A NotOfferedError says that the service does not have the rung that is to be checked, but others.
type NotOfferedError struct {
	Base, Rung string
	Offered    []string
}

func (e *NotOfferedError) Error() string {
	return fmt.Sprintf("--rung: %s does not offer %s; it offers %s", e.Base, e.Rung, strings.Join(e.Offered, ", "))
}

// A checker is one check under way.
type checker struct {
	Report
	token  string
	client *http.Client
}

// initial is the initial stock of a check.
const initial = 10

// Check returns what a running service lacks of the contract. It asks with a product of its own, which it removes at
// the end. An error means that the service could not be checked, and says what to do.
func Check(ctx context.Context, o Options) (*Report, error) {
	found := Report{Base: o.Base, Rung: o.Rung, Product: "contract-" + randomID()}
	c := &checker{Report: found, token: o.Token, client: newClient()}
	defer c.client.CloseIdleConnections()
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	if err := c.ladder(ctx); err != nil {
		return nil, err
	}
	err := c.fillShelf(ctx)
	if err == nil {
		c.sell(ctx)
	}
	c.clear(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return &c.Report, err
}

func randomID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

func newClient() *http.Client {
	return &http.Client{
		// A proxy in the environment must not stand between a check and localhost.
		Transport:     &http.Transport{Proxy: nil, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// reach checks that the service answers. If it answers anything at all, the rest can be checked.
func (c *checker) reach(ctx context.Context) error {
	a := c.ask(ctx, http.MethodGet, "/livez", "", nil)
	if a.err != nil {
		return fmt.Errorf("%s does not answer: start the service, or name where it listens: %w", c.Base, a.err)
	}
	c.judge(alive, a, anySuccess)
	c.judge(ready, c.ask(ctx, http.MethodGet, "/readyz", "", nil), anySuccess)
	return nil
}

// ladder asks which rungs there are, and chooses one.
func (c *checker) ladder(ctx context.Context) error {
	a := c.ask(ctx, http.MethodGet, "/rungs", "", nil)
	var wrong []string
	if entries, is := find(a.doc, "rungs")[0].([]any); is && len(entries) == 0 {
		wrong = append(wrong, "it lists no rungs")
	}
	c.judge(rungs, a, anySuccess, wrong...)
	offered := available(a)
	as := slices.IndexFunc(offered, func(rung string) bool { return strings.EqualFold(rung, c.Rung) })
	switch {
	case as >= 0:
		c.Rung = offered[as]
	case c.Rung == "" && len(offered) > 0:
		c.Rung = offered[0]
	case c.Rung == "":
		c.Rung = "v0" // nothing is listed: the rest is checked all the same
	case len(offered) > 0:
		return &NotOfferedError{c.Base, c.Rung, offered}
	}
	return nil
}

// available returns the numbers of the available rungs.
func available(a answer) []string {
	var offered []string
	entries, _ := find(a.doc, "rungs")[0].([]any)
	for _, e := range entries {
		name, _ := find(e, "number")[0].(string)
		if yes, _ := find(e, "available")[0].(bool); yes && name != "" {
			offered = append(offered, name)
		}
	}
	return offered
}

// fillShelf puts the product on the shelf, and checks that it is there.
func (c *checker) fillShelf(ctx context.Context) error {
	path := "/stock/" + c.Product
	put := c.administer(ctx, http.MethodPut, path, fmt.Sprintf(`{"quantity":%d}`, initial))
	if put.status == http.StatusUnauthorized || put.status == http.StatusForbidden {
		return fmt.Errorf("%s wants an admin token to put a product there: set LOADTEST_ADMIN_TOKEN", c.Base)
	}
	c.judge(fill, put, anySuccess)
	kept := c.administer(ctx, http.MethodPut, path, fmt.Sprintf(`{"quantity":%d,"ttl":"1h"}`, initial))
	if kept.status == http.StatusBadRequest {
		c.miss(keep, kept.describe(), May, keep.Without)
	} else {
		c.judge(keep, kept, anySuccess)
	}
	a := c.stock(ctx)
	var wrong []string
	if n := a.whole("quantity"); n >= 0 && n != initial {
		wrong = append(wrong, fmt.Sprintf("%d were put there, but it reports %d", initial, n))
	}
	c.judge(count, a, anySuccess, wrong...)
	return nil
}

func (c *checker) stock(ctx context.Context) answer {
	return c.ask(ctx, http.MethodGet, "/stock/"+c.Product, "", nil)
}

// clear removes the product.
func (c *checker) clear(ctx context.Context) {
	a := c.ask(ctx, http.MethodGet, "/metrics", "", nil)
	if a.status == http.StatusOK && !bytes.Contains(a.body, []byte("stockapi_redis_commands_total")) {
		c.miss(metrics, "stockapi_redis_commands_total", May, metrics.Without)
	} else {
		c.judge(metrics, a, http.StatusOK)
	}
	c.judge(unlock, c.administer(ctx, http.MethodDelete, "/locks/"+c.Product, ""), anySuccess)
	c.judge(remove, c.administer(ctx, http.MethodDelete, "/stock/"+c.Product, ""), anySuccess)
}

// anySuccess stands for every status from 200 to 299.
const anySuccess = 2

// judge records what an answer shows of its route: the status, the members, and what else is wrong.
func (c *checker) judge(r Route, a answer, want int, wrong ...string) {
	before := len(c.Lines)
	switch {
	case a.err != nil:
		c.wrong(r, a.describe())
	case a.status != want && a.status/100 != want:
		c.unwanted(r, a)
	case len(r.Members) > 0 && a.doc == nil && len(a.body) > 0: // without a body, its members are missing
		c.wrong(r, fmt.Sprintf("answered %d, and no JSON", a.status))
	default:
		c.members(r, a)
		for _, w := range wrong {
			c.wrong(r, w)
		}
	}
	if len(c.Lines) == before {
		c.Lines = append(c.Lines, Line{Route: r, Need: r.Need})
	}
}

// unwanted records an answer with another status: some mean that there is no such route, and all others are wrong.
func (c *checker) unwanted(r Route, a answer) {
	switch a.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		c.miss(r, a.describe(), r.Need, r.Without)
	default:
		c.wrong(r, a.describe())
	}
}

// members records each member that is missing or has the wrong type. If a whole object is missing, its members are not
// listed. Of members that only some answers have, it is no matter if this answer has none.
func (c *checker) members(r Route, a answer) {
	for _, m := range r.Sometimes {
		c.kind(r, m, find(a.doc, m.Path))
	}
	missing := map[string]bool{}
	for _, m := range r.Members {
		if missing[parent(m.Path)] {
			missing[m.Path] = true
			continue
		}
		values := find(a.doc, m.Path)
		if m.missing(values) {
			missing[m.Path] = true
			c.miss(r, m.Path, m.Need, m.Without)
			continue
		}
		c.kind(r, m, values)
	}
}

// kind records a member that has the wrong type.
func (c *checker) kind(r Route, m Member, values []any) {
	if slices.ContainsFunc(values, func(v any) bool { return v != nil && !m.Kind.holds(v) }) {
		c.wrong(r, m.Path+" is not "+string(m.Kind))
	}
}

// missing reports whether the member is missing. A Must has to be in each element of a list; of other members one is
// enough, as not every element needs them.
func (m Member) missing(values []any) bool {
	if m.Need == Must {
		return slices.Contains(values, nil)
	}
	return len(values) > 0 && !slices.ContainsFunc(values, func(v any) bool { return v != nil })
}

// parent returns the path of the object or list that a member is part of; "" if none.
func parent(path string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return ""
	}
	return strings.TrimSuffix(path[:i], "[]")
}

func (c *checker) miss(r Route, what string, need Need, without string) {
	c.Lines = append(c.Lines, Line{Route: r, Missing: what, Need: need, Without: without})
}

func (c *checker) wrong(r Route, what string) {
	c.Lines = append(c.Lines, Line{Route: r, Wrong: what, Need: r.Need, Without: r.Without})
}
