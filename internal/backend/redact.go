package backend

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A URL may hold a password in several places: before the host, in its query, and anywhere if it was not escaped. So a
// log line is built from the parts that are known to be harmless, rather than by removing parts from the whole. The
// error of a driver quotes the URL, and is never shown.

const notShown = "(not shown: it may hold a password)"

var (
	hostPattern = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?\])(:[0-9]{1,5})?$`)
	namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	dbPattern   = regexp.MustCompile(`^[0-9]{1,4}$`)
	schemes     = []string{"redis", "rediss", "unix", "sqlite", "mysql", "mariadb", "postgres", "postgresql"}
)

// Redact returns the parts of a URL that a log may show: its scheme, its hosts, the database or the file, and the
// parameters for Sentinel and Cluster.
func Redact(raw string) string {
	u, ok := parseShowable(raw)
	if !ok {
		return notShown
	}
	return u.Scheme + "://" + u.Host + place(u) + topology(u.Query())
}

// Address returns the host:port of a URL.
func Address(raw string) string {
	u, ok := parseShowable(raw)
	if !ok || u.Host == "" {
		return Redact(raw)
	}
	return u.Host
}

// parseShowable parses a URL, and reports whether its parts can be trusted. An @ after the host means that a password
// was not escaped: then the part that looks like the host is the beginning of the password. So does a #.
func parseShowable(raw string) (*url.URL, bool) {
	u, err := url.Parse(raw)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" {
		return nil, false
	}
	if strings.Contains(raw, "#") || strings.Contains(u.Path, "@") || strings.Contains(u.RawQuery, "@") {
		return nil, false
	}
	return u, u.Host == "" || Hosts(u.Host)
}

// Hosts reports whether a text is a list of servers: host or host:port, separated by commas.
func Hosts(list string) bool {
	for host := range strings.SplitSeq(list, ",") {
		if !hostPattern.MatchString(host) {
			return false
		}
	}
	return true
}

// place returns the path of a URL if it names a file or a database.
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

// topology returns the parameters of a Redis URL that locate its nodes.
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

// CheckHash refuses a URL with a raw #, without quoting it. No URL here has a fragment. If a password has a #, the part
// before it would be dialled, and shown, as the host.
func CheckHash(raw string) error {
	if strings.Contains(raw, "#") {
		return errors.New("a URL with a raw # is not used: write # as %23")
	}
	return nil
}

// URLError returns an error about a Redis URL that does not quote it, instead of the error of go-redis, which does.
func URLError(raw string, err error) error {
	return fmt.Errorf("%s is not the URL of a Redis, redis://[:password@]host[:port][/database]: %s",
		Redact(raw), reason(err))
}

// reason explains an error of go-redis about a URL without quoting the URL.
func reason(err error) string {
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
