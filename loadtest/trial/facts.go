package trial

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/wire"
)

// tellReading records whether a plain sale reads the stock under its lock, before its acquire, or never.
func tellReading(p *sale.Passport) {
	if p.Elsewhere {
		return
	}
	before := p.BeforeWrite()
	isRead := func(s sale.Step) bool { return s.Has((*history.Command).ReadsStock) }
	p.ReadsTwice = before != nil && isRead(*before) && p.ComesEarly(before)
	unread := len(p.Locks) > 0 && before != nil && !isRead(*before)
	p.ReadsEarly = unread && slices.ContainsFunc(p.Steps, isRead)
	p.ReadsNever = unread && !p.ReadsEarly
}

var valueOfRequest = regexp.MustCompile(`[=:]\s*"?([^\s"&,{}\[\]]+)`)

// fixedValue returns the value of every order that the name of a key contains, besides the product; "" if there is
// none.
func (t *Trial) fixedValue(key string) string {
	for _, text := range []string{t.shop.Order.Path, t.shop.Order.Body} {
		for _, m := range valueOfRequest.FindAllStringSubmatch(text, -1) {
			value, err := url.QueryUnescape(m[1])
			if err != nil || value == t.shop.Product {
				continue
			}
			word := regexp.MustCompile(`(^|[^\pL\pN])` + regexp.QuoteMeta(value) + `($|[^\pL\pN])`)
			if word.MatchString(key) {
				return value
			}
		}
	}
	return ""
}

// withWrite describes a release by the command that writes the stock.
const withWrite = "the command that writes the stock"

// overwrites reports whether the lock is acquired by a SET without NX, and not only over a value that means free.
func overwrites(p *sale.Passport) bool {
	if len(p.AcquireArgs) == 0 || !strings.EqualFold(p.AcquireArgs[0], "set") ||
		strings.HasSuffix(wire.Condition(p.AcquireArgs), "EQ") {
		return false
	}
	return !slices.ContainsFunc(p.AcquireArgs[min(3, len(p.AcquireArgs)):], func(arg string) bool {
		return strings.EqualFold(arg, "nx")
	})
}

func either(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}
