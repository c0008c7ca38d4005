package backend

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A URL may hold a password in more places than one: before the host, in its query, and anywhere at all if it was not
// escaped. So what is shown of it is put together from parts that are known to be harmless, and nothing is taken away
// from the whole. A driver's own error about a URL quotes it, and is never shown.

const notShown = "(not shown: it may hold a password)"

var (
	hostPattern = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?\])(:[0-9]{1,5})?$`)
	namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	dbPattern   = regexp.MustCompile(`^[0-9]{1,4}$`)
	schemes     = []string{"redis", "rediss", "unix", "sqlite", "mysql", "mariadb", "postgres", "postgresql"}
)

// Redact returns what a log may show of a URL: its scheme, its hosts, the database or the file, and how Redis is to be
// found through Sentinel or in a Cluster.
func Redact(raw string) string {
	u, ok := parseShowable(raw)
	if !ok {
		return notShown
	}
	return u.Scheme + "://" + u.Host + place(u) + topology(u.Query())
}

// Address returns host:port of a URL, to name the server by.
func Address(raw string) string {
	u, ok := parseShowable(raw)
	if !ok || u.Host == "" {
		return Redact(raw)
	}
	return u.Host
}

// parseShowable parses a URL, and reports whether its parts are what they seem. An @ behind the host means that a
// password before it was not escaped: then what looks like the host is the beginning of that.
func parseShowable(raw string) (*url.URL, bool) {
	u, err := url.Parse(raw)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" {
		return nil, false
	}
	if strings.Contains(u.Path+u.Fragment, "@") || strings.Contains(u.RawQuery, "@") {
		return nil, false
	}
	return u, u.Host == "" || Hosts(u.Host)
}

// Hosts reports whether a text is a list of servers, host or host:port with commas between, and nothing else.
func Hosts(list string) bool {
	for host := range strings.SplitSeq(list, ",") {
		if !hostPattern.MatchString(host) {
			return false
		}
	}
	return true
}

// place returns the path of a URL where that names a file or a database.
func place(u *url.URL) string {
	name := namePattern
	switch u.Scheme {
	case "unix", "sqlite":
		return u.Path
	case "redis", "rediss":
		name = dbPattern
	}
	if !name.MatchString(strings.TrimPrefix(u.Path, "/")) {
		return ""
	}
	return u.Path
}

// topology returns those parameters of a Redis URL that say where its nodes are.
func topology(query url.Values) string {
	var shown []string
	for _, name := range []string{"master_name", "addr", "cluster"} {
		for _, value := range query[name] {
			if hostPattern.MatchString(value) {
				shown = append(shown, name+"="+value)
			}
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return "?" + strings.Join(shown, "&")
}

// Hide returns what may be said of a Redis URL that cannot be used, in place of go-redis' own error, which quotes it.
func Hide(raw string, err error) error {
	return fmt.Errorf("%s is not the URL of a Redis, redis://[:password@]host[:port][/database]: %s", Redact(raw), wrong(err))
}

// wrong tells in our own words what go-redis objects to.
func wrong(err error) string {
	for _, w := range []struct{ says, means string }{
		{"invalid URL scheme", "it begins with redis://, rediss:// or unix://"},
		{"invalid database number", "the database is a number"},
		{"invalid URL path", "the path is the number of a database"},
		{"unable to parse addr", "an addr of the query is host:port"},
		{"unexpected option", "a parameter of the query is none of go-redis'"},
	} {
		if strings.Contains(err.Error(), w.says) {
			return w.means
		}
	}
	return "special characters of a password have to be escaped, @ as %40 and / as %2F"
}
